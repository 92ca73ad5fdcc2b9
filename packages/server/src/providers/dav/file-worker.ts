import { parentPort } from 'node:worker_threads'
import { doTask, type FileTask } from './file-tasks.ts'

/* The thread of file-thread.ts. */

parentPort?.on('message', (task: FileTask) => parentPort?.postMessage(doTask(task), []))
