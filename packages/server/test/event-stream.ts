import { request } from 'node:http'

export interface StreamedEvent {
  id: string | null
  event: string | null
  data: unknown
}

/** An open event stream, read by the standard of Server-Sent Events. */
export interface TestStream extends Disposable {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Everything that was received. */
  text(): string
  /** The events and the comments that carry an id. */
  events(): StreamedEvent[]
  /** Resolves when the server has ended the stream, with whether it did so in order. */
  ended: Promise<boolean>
}

/** Requests an event stream. Resolves with the head of the answer. */
export function openStream(
  address: string,
  key: string,
  { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {},
): Promise<TestStream> {
  const { promise, resolve, reject } = Promise.withResolvers<TestStream>()
  const sent = request(`${address}/v1/changes/stream${query}`, {
    agent: false,
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  sent.on('error', reject)
  sent.on('response', response => {
    let text = ''
    const ended = Promise.withResolvers<boolean>()
    response.setEncoding('utf8')
    response.on('data', (piece: string) => void (text += piece))
    response.on('error', () => {})
    response.on('close', () => ended.resolve(response.complete))
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: () => text,
      events: () => parseEvents(text),
      ended: ended.promise,
      [Symbol.dispose]: () => void sent.destroy(),
    })
  })
  sent.end()
  return promise
}

function parseEvents(text: string): StreamedEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map(block => {
      const fields = new Map(
        block.split('\n').map(line => {
          const at = line.indexOf(': ')
          return [line.slice(0, at), line.slice(at + 2)] as const
        }),
      )
      const data = fields.get('data')
      return {
        id: fields.get('id') ?? null,
        event: fields.get('event') ?? null,
        data: data === undefined ? null : (JSON.parse(data) as unknown),
      }
    })
    .filter(({ id }) => id !== null)
}
