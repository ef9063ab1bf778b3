/** The program of a toolsrv, and of its spawner threads: each loads only its own part. */
import { isMainThread, parentPort, workerData } from "node:worker_threads";

if (isMainThread) await import("./main.ts");
else {
  const { spawnerThread } = await import("#plugins/sandbox-landlock");
  await spawnerThread(workerData, (told) => parentPort?.postMessage(told));
}
