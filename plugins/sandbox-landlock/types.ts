/** Confinement of programs by Landlock and seccomp, for toolsrv: threads that start them. */
export { lostBelow, stillOpen } from "./landlock.ts";
export { landlockVersion } from "./native.ts";
export { type Confined, confinedSpawner } from "./spawner.ts";
export { type Start, starter, type Where } from "./start.ts";
export { spawnerThread, type ThreadData } from "./thread.ts";
