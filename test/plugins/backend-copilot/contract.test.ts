import { copilotBackends } from "../../../plugins/backend-copilot/backend.ts";
import { providerFetch } from "../../../plugins/backends/types.ts";
import { contractSuite } from "../backends/contract.ts";
import { chatContract } from "../backends/contract-fakes.ts";

const renewed = "a token that is refused is renewed, and the request sent once more";
const limits = "windows are told in another shape";

contractSuite(
  "copilot",
  chatContract,
  (fake, { idle, key }) => {
    const env = { OLLIE_COPILOT_TOKEN: "gho_account", OLLIE_COPILOT_URL: `${fake.url}/v1` };
    const real = providerFetch({ idle, env });
    const exchanged = { token: key, refresh_in: 1_500 };
    return copilotBackends({
      env,
      fetch: async (url, init) =>
        String(url).endsWith("/copilot_internal/v2/token") ? Response.json(exchanged) : real(url, init),
    })("fake-1");
  },
  {
    idle: 500,
    without: {
      '401 "no such key" is auth, asked once': renewed,
      "a key that the provider repeats is not in the error": renewed,
      "H-108: a context length of 131072": limits,
      'H-108: a context length of "128000"': limits,
    },
  },
);
