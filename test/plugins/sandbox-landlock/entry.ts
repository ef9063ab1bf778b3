/** What toolsrv's bundle does with its thread, alone: for tests that start confined programs themselves. */
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { spawnerThread } from "#plugins/sandbox-landlock";

if (!isMainThread) await spawnerThread(workerData, (told) => parentPort?.postMessage(told));
