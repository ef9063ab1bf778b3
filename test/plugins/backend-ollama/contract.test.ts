import { ollamaBackends } from "../../../plugins/backend-ollama/backend.ts";
import { contractSuite } from "../backends/contract.ts";
import { ollamaContract } from "../backends/contract-wires.ts";

contractSuite(
  "ollama",
  ollamaContract,
  (fake, { idle, key }) => {
    const env = { OLLIE_OLLAMA_URL: fake.url, OLLIE_OLLAMA_KEY: key, OLLIE_OLLAMA_CONTEXT: "1000000" };
    return ollamaBackends({ env, idle })("fake-1");
  },
  {
    idle: 500,
    without: { "H-102: input counts cached tokens, which are told too": "the wire does not tell cached tokens" },
  },
);
