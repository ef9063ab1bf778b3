/** For authors of plugins: a kernel in memory, a scripted model, conversations in 9P. Exported as `ollie/testing`. */
export type { TestKernel, TestOptions } from "./kernel.ts";
export { testKernel } from "./kernel.ts";
export type { FakeTool } from "./tools.ts";
export { fakeTools } from "./tools.ts";
export type { Actions, TranscriptOptions } from "./transcript.ts";
export { runTranscript } from "./transcript.ts";
