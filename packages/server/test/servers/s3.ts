import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFauxqs } from 'fauxqs'
import type { S3Settings } from '../../src/kit/blobs/s3/s3-calls.ts'
import { Secret } from '../../src/kit/secret.ts'
import { findFreePorts } from './daemon.ts'

/** Fault in place of an answer, or within it. */
export interface S3Fault {
  /** Which requests: a method and a part of the URL. */
  method?: string
  url?: string
  /** How many of them; all by default. */
  times?: number
  /** Answers with this status and error code. */
  answer?: { status: number; code: string; header?: Record<string, string> }
  /** Never answers. */
  isSilent?: boolean
  /** Passes the request on after this time. */
  delayMilliseconds?: number
  /** Breaks the connection after this many bytes of the answer's body. */
  cutAfterBytes?: number
}

export interface S3Server extends AsyncDisposable {
  endpoint: string
  bucket: string
  settings: S3Settings
  /** The settings as a service reads them. */
  env: Record<string, string>
  /** May be replaced at any time. */
  faults: S3Fault[]
  /** Requests so far, as `PUT /bucket/key?query`. */
  requests: string[]
  /** The headers of those requests. */
  headers: IncomingHttpHeaders[]
  /** Requests that are being delayed. */
  waiting: number
  /** Ids of uploads in parts that were neither completed nor aborted. */
  openUploads: Set<string>
  /** Closes all connections and refuses new ones until `resume`. */
  pause(): Promise<void>
  resume(): Promise<void>
}

export interface S3Options {
  /** A server certificate: the store then speaks TLS. */
  tls?: { key: string; cert: string }
}

const BUCKET = 'waxwing-test'
const UPLOAD_ID = /<UploadId>([^<]+)<\/UploadId>/

/** Starts an object store in memory, behind a proxy that plays faults. */
export async function startS3({ tls }: S3Options = {}): Promise<S3Server> {
  const store = await startFauxqs({ port: 0, logger: false })
  store.createBucket(BUCKET)
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void handle(incoming, outgoing)
  const proxy = tls ? createTlsServer(tls, listener) : createServer(listener)

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const url = incoming.url ?? ''
    const line = `${incoming.method} ${url}`
    server.requests.push(line)
    server.headers.push(incoming.headers)
    incoming.on('error', () => {})
    outgoing.on('error', () => {})
    const fault = takeFault(server.faults, incoming.method ?? '', url)
    if (fault?.isSilent) return
    if (fault?.delayMilliseconds !== undefined) {
      server.waiting += 1
      await sleep(fault.delayMilliseconds)
      server.waiting -= 1
    }
    if (fault?.answer) {
      incoming.resume()
      await once(incoming, 'end').catch(() => {})
      const { status, code, header } = fault.answer
      const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`
      outgoing.writeHead(status, { 'content-type': 'application/xml', ...header })
      outgoing.end(incoming.method === 'HEAD' ? undefined : body)
      return
    }
    const { method, headers } = incoming
    const forwarded = request({ host: '127.0.0.1', port: store.port, method, path: url, headers })
    forwarded.on('error', () => outgoing.destroy())
    forwarded.on('response', answer => {
      passOn(answer, outgoing, { line, fault }).catch(() => void outgoing.destroy())
    })
    incoming.pipe(forwarded)
  }

  async function passOn(
    answer: IncomingMessage,
    outgoing: ServerResponse,
    { line, fault }: { line: string; fault: S3Fault | null },
  ) {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
    let text = ''
    let left = fault?.cutAfterBytes ?? Infinity
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      if (line.includes('?uploads')) text += chunk.toString()
      outgoing.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left < 0) {
        // Bytes that were written arrive before the connection breaks.
        setTimeout(() => outgoing.destroy(), 20)
        return
      }
    }
    countUpload(server.openUploads, line, answer.statusCode ?? 500, text)
    outgoing.end()
  }

  // A port that stays free while the proxy pauses.
  const [port = 0] = await findFreePorts(1)
  proxy.listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  const endpoint = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  const server: S3Server = {
    endpoint,
    bucket: BUCKET,
    settings: {
      bucket: BUCKET,
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: new Secret('test') },
      prefix: 'of/waxwing',
      isPathStyle: true,
      authorities: null,
    },
    env: {
      WAXWING_S3_BUCKET: BUCKET,
      WAXWING_S3_ENDPOINT: endpoint,
      WAXWING_S3_ACCESS_KEY_ID: 'test',
      WAXWING_S3_SECRET_ACCESS_KEY: 'test',
      WAXWING_S3_PREFIX: 'of/waxwing',
    },
    faults: [],
    requests: [],
    headers: [],
    waiting: 0,
    openUploads: new Set(),
    async pause() {
      const closed = once(proxy, 'close')
      proxy.close()
      proxy.closeAllConnections()
      await closed
    },
    // Bound to the code that started it, also where a test lets it go on.
    resume: AsyncResource.bind(async () => {
      proxy.listen(port, '127.0.0.1')
      await once(proxy, 'listening')
    }),
    async [Symbol.asyncDispose]() {
      if (proxy.listening) await server.pause()
      await store.stop()
    },
  }
  return server
}

function takeFault(faults: S3Fault[], method: string, url: string): S3Fault | null {
  const fault = faults.find(
    each =>
      (each.method ?? method) === method && url.includes(each.url ?? '') && (each.times ?? Infinity) > 0,
  )
  if (fault?.times !== undefined) fault.times -= 1
  return fault ?? null
}

function countUpload(open: Set<string>, line: string, status: number, text: string) {
  if (status >= 300) return
  const [, begun] = UPLOAD_ID.exec(text) ?? []
  if (begun !== undefined) open.add(begun)
  const [, ended] = /^(?:POST|DELETE) .*[?&]uploadId=([^&]+)/.exec(line) ?? []
  if (ended !== undefined) open.delete(decodeURIComponent(ended))
}
