import { Agent, type IncomingMessage, request } from 'node:http'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchService } from './service.ts'

/**
 * A client on node:http with kept connections, since fetch takes as long as the answer itself. Resolves to the number
 * of bytes of the body.
 */
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

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Like `openGet`, for answers with a Content-Length, by a client that does almost nothing, since it shares the
 * processors with what it measures. Dispose it to close its connections.
 */
export function openPageGet(service: Pick<BenchService, 'address' | 'key'>, path: string) {
  const client = openBareClient(service)
  const get = async () => (await client.send(`GET ${path}`)).length
  return { get, [Symbol.dispose]: () => client[Symbol.dispose]() }
}

/** Posts JSON and returns the parsed answer, by the same client. */
export function openPost(service: Pick<BenchService, 'address' | 'key'>) {
  const client = openBareClient(service)
  async function post<Answer>(path: string, value: unknown): Promise<Answer> {
    const body = await client.send(`POST ${path}`, JSON.stringify(value))
    // Named by the caller, who knows the operation.
    return JSON.parse(body.toString()) as Answer
  }
  return { post, [Symbol.dispose]: () => client[Symbol.dispose]() }
}

/** Sends JSON with the method PATCH, by the same client. */
export function openPatch(service: Pick<BenchService, 'address' | 'key'>) {
  const client = openBareClient(service)
  return {
    patch: (path: string, value: unknown) => client.send(`PATCH ${path}`, JSON.stringify(value)),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  }
}

/** Resolves to the body of each answer; rejects if its status is not 200. */
function openBareClient({ address, key }: Pick<BenchService, 'address' | 'key'>) {
  const { hostname, port } = new URL(address)
  const idle: Socket[] = []
  async function send(line: string, json?: string): Promise<Buffer> {
    const type = json === undefined ? '' : 'content-type: application/json\r\n'
    const length = json === undefined ? '' : `content-length: ${Buffer.byteLength(json)}\r\n`
    const head = `${line} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\n${type}${length}\r\n`
    const socket = idle.pop() ?? connect({ port: Number(port), host: hostname, noDelay: true })
    const answered = readAnswer(socket)
    socket.write(head + (json ?? ''))
    const body = await answered
    idle.push(socket)
    return body
  }
  return { send, [Symbol.dispose]: () => idle.forEach(socket => socket.destroy()) }
}

function readAnswer(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body: Buffer[] = []
    let left: number | null = null
    socket.removeAllListeners('data').removeAllListeners('error').removeAllListeners('close')
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The connection was closed before its answer was complete.')))
    socket.on('data', (chunk: Buffer) => {
      let part = chunk
      if (left === null) {
        const end = chunk.indexOf(HEAD_END)
        const head = chunk.toString('latin1', 0, end)
        const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1])
        if (!head.startsWith('HTTP/1.1 200 ') || Number.isNaN(length))
          return reject(new Error(chunk.toString()))
        left = length
        part = chunk.subarray(end + HEAD_END.length)
      }
      body.push(part)
      left -= part.length
      if (left === 0) resolve(Buffer.concat(body))
    })
  })
}

/** Starts a download that is read at this many bytes per second until it is disposed. */
export async function openSlowGet(
  { address, key }: Pick<BenchService, 'address' | 'key'>,
  path: string,
  bytesPerSecond: number,
): Promise<AsyncDisposable> {
  const sent = request(address + path, { headers: { authorization: `Bearer ${key}` } })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let isOver = false
  const taken = (async () => {
    for await (const chunk of answer) {
      if (isOver) break
      await sleep(((chunk as Buffer).length * 1000) / bytesPerSecond)
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
