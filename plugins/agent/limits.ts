/** Every number of the agent in one place. Sizes are bytes, times are milliseconds. */
export const limits = {
  /** One prompt, inject, plan or feed. */
  prompt: 1 << 20,
  cfg: 256 * 1024,
  ctl: 64 * 1024,
  /** Prompts that wait. */
  queue: 1_000,
  /** All of their texts: each snapshot has them, and is one string but for its messages. */
  queued: 32 << 20,
  /** Agents of one session. */
  agents: 64,
  /** Agents made by agents, one by the other. */
  generations: 4,
  /** Turns that hooks cause, one behind the other. */
  depth: 8,
  /** Attempts after the first one to get a reply. */
  retries: 3,
  /** First pause before a retry; it doubles each time. A rate limit waits `rateLimitFactor` times as long. */
  retryBase: 2_000,
  rateLimitFactor: 2.5,
  /** Share of the pause that is added at random, so that agents do not come back all at once. */
  jitter: 0.25,
  /** A provider that asks for a longer pause ends the turn. */
  retryAfter: 600_000,
  /** A request that gives nothing for so long counts as broken. */
  idle: 300_000,
  /** Time for a stream to end by itself after the reply's finish mark. */
  streamEnd: 2_000,
  /** A tool result, as the model gets it. */
  toolResult: 64 * 1024,
  /** Results of read calls that are kept for equal ones of the same turn. */
  readCache: 16 << 20,
  /** Tool rounds in a row in which every call failed: the model is told, the turn ends. */
  errorRounds: { nudge: 5, end: 10 },
  /** Tool rounds without a plan after which the model is asked for one; then after twice as many, and so on. */
  planRounds: 8,
  /** Equal tool rounds in a row after which the model is told. */
  equalRounds: 5,
  /** Output of one call that is kept for chat while an earlier call of the same reply is still shown. */
  toolBacklog: 1 << 20,
  /** Tokens, where the backend does not know its window. */
  context: 128_000,
  /** Histories of agents at rest that stay in memory, beside the one that was used last. */
  histories: 32 << 20,
  /** Of chat.raw, kept in memory. */
  chatMemory: 1 << 20,
  /** The log's file is closed when nothing was written for so long. */
  chatOpen: 1_000,
  /** Of chat.raw: then it begins anew. */
  chatFile: 256 << 20,
  /** Of chat.raw, served by `log`. */
  log: 64 * 1024,
  /** Chat text that may wait for the disk before the loop waits for it. */
  chatBacklog: 8 << 20,
  /** Text that is made at a time of a long history: other work goes on then. */
  piece: 256 * 1024,
  /** Rendering of a system prompt, all of its commands. */
  render: 60_000,
  /** A `!command`: its time, its output, how many run at once for an agent. */
  command: 600_000,
  commandOutput: 1 << 20,
  commands: 4,
  /** Characters of a reply that is shown to its end before it is stored. */
  longReply: 1 << 20,
  /** Milliseconds that readers have for that. */
  readAlong: 500,
  /** Nesting of a call's arguments: what is deeper breaks JSON.stringify somewhere. */
  argsDepth: 200,
} as const;
