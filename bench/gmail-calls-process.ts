/** The yardstick in a separate process: calls of Gmail as they were made before, whose answers are dropped. */
import { request } from 'undici'
import { answerTask, runTask } from './child-task.ts'

/** Calls that were made one after another, then batches that were made a few at a time. */
interface Task {
  origin: string
  token: string
  singles: string[]
  batches: string[][]
  atOnce: number
}

export const replayCalls = (task: Task) => runTask<{ seconds: number }>(import.meta.url, task)

async function replay({ origin, token, singles, batches, atOnce }: Task): Promise<{ seconds: number }> {
  const authorization = `Bearer ${token}`
  const send = async (path: string, body?: string) => {
    const answer = await request(origin + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization,
        ...(body !== undefined && { 'content-type': 'multipart/mixed; boundary=bench' }),
      },
      body: body ?? null,
    })
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`)
    await answer.body.dump({ limit: 1024 ** 3 })
  }
  const begun = performance.now()
  for (const path of singles) await send(path)
  const left = batches.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const paths of left) await send('/batch/gmail/v1', writeBatch(paths))
    }),
  )
  return { seconds: (performance.now() - begun) / 1_000 }
}

function writeBatch(paths: readonly string[]): string {
  const parts = paths.map(
    (path, index) =>
      `--bench\r\nContent-Type: application/http\r\nContent-ID: <item-${index}>\r\n\r\nGET ${path}\r\n\r\n`,
  )
  return `${parts.join('')}--bench--\r\n`
}

if (import.meta.main) await answerTask(replay)
