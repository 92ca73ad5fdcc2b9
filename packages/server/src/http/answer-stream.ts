import { EVENT_STREAM, type EventStream } from '@waxwing/contract/shapes.ts'
import type { Logger } from '../kit/log.ts'
import type { AnswerHeaders } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { streamPieces } from './stream-pieces.ts'

/** A client that takes nothing for this long is taken for gone. */
const STALL_MILLISECONDS_MAX = 60_000

type StreamExchange = Pick<Exchange, 'request' | 'requestId' | 'headers' | 'outgoing'>

/** Sends Server-Sent Events, as long as there are any. A failure ends the connection, and the client comes again. */
export async function answerStream(
  { content }: EventStream,
  { request, requestId, headers, outgoing }: StreamExchange,
  log: Logger,
): Promise<Response> {
  const answerHeaders: AnswerHeaders = {
    ...headers,
    'content-type': EVENT_STREAM,
    // Proxies must pass each event on at once.
    'x-accel-buffering': 'no',
    'transfer-encoding': 'chunked',
  }
  const iterator = encoded(content)
  if (request.method === 'HEAD') {
    await iterator.return(undefined)
    return new Response(null, { headers: answerHeaders })
  }
  const body = streamPieces({
    first: await iterator.next(),
    iterator,
    stallMillisecondsMax: STALL_MILLISECONDS_MAX,
    breakOff(error) {
      log.warn({ requestId, error }, 'An event stream was broken off')
      outgoing.destroy()
    },
  })
  return new Response(body, { headers: answerHeaders })
}

async function* encoded(content: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const text of content) yield Buffer.from(text)
}
