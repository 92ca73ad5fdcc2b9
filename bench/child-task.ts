import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Runs the program of a yardstick in a process of its own, with its task as JSON, and returns its figures. */
export function runTask<Figures>(program: string, task: unknown): Promise<Figures> {
  const child = spawn(process.execPath, [fileURLToPath(program)], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(task))
  let output = ''
  child.stdout.on('data', (text: Buffer) => (output += text.toString()))
  return new Promise((resolve, reject) => {
    child.once('close', code =>
      // Written by `answerTask`.
      code === 0 ? resolve(JSON.parse(output) as Figures) : reject(new Error(`${program}: ${code}`)),
    )
  })
}

/** Runs such a program: it reads its task, writes its figures and ends. */
export async function answerTask<Task, Figures>(work: (task: Task) => Promise<Figures>): Promise<never> {
  let input = ''
  for await (const text of process.stdin) input += String(text)
  // Written by `runTask`.
  process.stdout.write(JSON.stringify(await work(JSON.parse(input) as Task)))
  process.exit(0)
}
