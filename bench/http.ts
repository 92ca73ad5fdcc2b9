import { Agent, type IncomingMessage, request } from 'node:http'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchService } from './service.ts'

/** node:http with kept connections: fetch takes as long as the answer itself. Resolves to the octets of the body. */
export function openGet({ address, key }: Pick<BenchService, 'address' | 'key'>, path: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const options = { agent, headers: { authorization: `Bearer ${key}` } }
  return () =>
    new Promise<number>((resolve, reject) => {
      const sent = request(address + path, options, answer => {
        let bytes = 0
        answer.on('data', (chunk: Buffer) => (bytes += chunk.length))
        answer.on('end', () =>
          answer.statusCode === 200 ? resolve(bytes) : reject(new Error(`${answer.statusCode}`)),
        )
      })
      sent.on('error', reject)
      sent.end()
    })
}

/** A download that is under way, and is taken at so many octets a second until it is disposed. */
export async function openSlowGet(
  { address, key }: Pick<BenchService, 'address' | 'key'>,
  path: string,
  octetsPerSecond: number,
): Promise<AsyncDisposable> {
  const sent = request(address + path, { headers: { authorization: `Bearer ${key}` } })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let isOver = false
  const taken = (async () => {
    for await (const chunk of answer) {
      if (isOver) break
      await sleep(((chunk as Buffer).length * 1000) / octetsPerSecond)
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      isOver = true
      await taken
      sent.destroy()
    },
  }
}
