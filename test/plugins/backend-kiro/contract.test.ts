import { kiroBackends } from "../../../plugins/backend-kiro/backend.ts";
import { contractSuite } from "../backends/contract.ts";
import { kiroContract } from "../backends/contract-wires.ts";

const binary = "the stream is binary";
const noEnd = "the protocol has no end mark: the end of the body is one";

contractSuite(
  "kiro",
  kiroContract,
  (fake, { idle, key }) => {
    fake.token = key;
    return kiroBackends({ env: { OLLIE_KIRO_URL: fake.url, OLLIE_KIRO_TOKEN: key }, idle })("fake-1");
  },
  {
    idle: 500,
    without: {
      "H-003: line ends may be CRLF": binary,
      "H-011: a call in which the output limit hit is marked, also where its arguments parse": `${noEnd}, and no reason`,
      "H-102: input counts cached tokens, which are told too": "the protocol tells no usage",
      "the prefix of a longer history keeps its words": "each request has an id of its own in front",
    },
  },
);
