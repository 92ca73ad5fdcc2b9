/** The yardstick in a separate process: calls of a provider as they were made before, whose answers are dropped. */
import { request } from 'undici'
import { answerTask, runTask } from './child-task.ts'

/** A call that was made before. With a body it is a POST. */
export interface ReplayedCall {
  path: string
  headers?: Record<string, string>
  body?: string
}

/** Calls that were made one after another, then batches that were made a few at a time. */
interface Task {
  origin: string
  token: string
  singles: ReplayedCall[]
  batches: ReplayedCall[]
  atOnce: number
}

export const replayCalls = (task: Task) => runTask<{ seconds: number }>(import.meta.url, task)

async function replay({ origin, token, singles, batches, atOnce }: Task): Promise<{ seconds: number }> {
  const authorization = `Bearer ${token}`
  const send = async ({ path, headers, body }: ReplayedCall) => {
    const answer = await request(origin + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, authorization },
      body: body ?? null,
    })
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`)
    await answer.body.dump({ limit: 1024 ** 3 })
  }
  const begun = performance.now()
  for (const call of singles) await send(call)
  const left = batches.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const call of left) await send(call)
    }),
  )
  return { seconds: (performance.now() - begun) / 1_000 }
}

if (import.meta.main) await answerTask(replay)
