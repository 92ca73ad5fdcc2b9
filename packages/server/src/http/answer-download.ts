import type { Download } from '@waxwing/contract/shapes.ts'
import type { Logger } from '../kit/log.ts'
import type { AnswerHeaders } from './answer.ts'
import { downloadType } from './download-type.ts'
import type { Exchange } from './exchange.ts'
import { streamPieces } from './stream-pieces.ts'

/** A client that takes nothing for this long is taken for gone. */
const STALL_MILLISECONDS_MAX = 120_000
const FILE_NAME_LENGTH_MAX = 200

type DownloadExchange = Pick<Exchange, 'request' | 'requestId' | 'headers' | 'outgoing'>

/**
 * Sends a download in chunks. Waits for the first piece, so that a failure until then is answered with an error body. A
 * later failure breaks the connection, so that no client takes a part for the whole.
 */
export async function answerDownload(
  { contentType, fileName, content }: Download,
  { request, requestId, headers, outgoing }: DownloadExchange,
  log: Logger,
): Promise<Response> {
  const iterator = content[Symbol.asyncIterator]()
  const first = await iterator.next()
  const answerHeaders: AnswerHeaders = {
    ...headers,
    'content-type': downloadType(contentType),
    'content-disposition': attachmentNamed(fileName),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-site',
    // Without it the server would send the length of short content.
    'transfer-encoding': 'chunked',
  }
  if (request.method === 'HEAD') {
    await iterator.return?.()
    return new Response(null, { headers: answerHeaders })
  }
  const body = streamPieces({
    first,
    iterator,
    stallMillisecondsMax: STALL_MILLISECONDS_MAX,
    breakOff(error) {
      log.warn({ requestId, error }, 'A download was broken off')
      outgoing.destroy()
    },
  })
  return new Response(body, { headers: answerHeaders })
}

/** The header of RFC 6266: the name as in RFC 8187, and in ASCII for clients that do not know RFC 8187. */
function attachmentNamed(fileName: string | null): string {
  const name = (fileName ?? '')
    .replaceAll(/[\u0000-\u001f\u007f-\u009f/\\\u202a-\u202e\u2066-\u2069]/g, '_')
    .slice(0, FILE_NAME_LENGTH_MAX)
  if (name.trim() === '') return 'attachment'
  const ascii = name.replaceAll(/[^\x20-\x7e]|["%;]/g, '_')
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
