import { geminiBackends } from "../../../plugins/backend-gemini/backend.ts";
import { contractSuite } from "../backends/contract.ts";
import { geminiContract } from "../backends/contract-wires.ts";

const whole = "calls come whole on this wire, as objects";

contractSuite(
  "gemini",
  geminiContract,
  (fake, { idle, key }) =>
    geminiBackends({ env: { OLLIE_GEMINI_URL: fake.url, OLLIE_GEMINI_KEY: key }, idle })("fake-1"),
  { idle: 500, without: { "H-005: broken arguments are given out as they are": whole } },
);
