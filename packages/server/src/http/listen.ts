import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { newId } from '../kit/ids.ts'
import { type ErrorBody, answerProtocolError, errorOfStatus, headersFor, protocolError } from './answer.ts'
import type { App } from './app.ts'
import { NO_ROUTE, type ObserveAnswer } from './observe-answers.ts'
import { UNKNOWN_EXPECTATION, hasNeedlessBody, messageFault } from './message-fault.ts'
import { requestIdOf } from './request-id.ts'

/** Limits for slow clients, after which they are disconnected. */
export interface Patience {
  headersMilliseconds: number
  requestMilliseconds: number
  /** Interval of the checks for slow clients. */
  lookMilliseconds: number
}

const PATIENCE: Patience = {
  headersMilliseconds: 10_000,
  requestMilliseconds: 60_000,
  lookMilliseconds: 2000,
}
/** Longer than the usual 60 s of load balancers, so that they close an idle connection before we do. */
const KEEP_ALIVE_MILLISECONDS = 65_000
const HEADER_BYTES_MAX = 16 * 1024
const CLOSE_POLL_MILLISECONDS = 50

export interface ListenOptions {
  patience?: Patience | undefined
  /** Called with each answer that does not come from the app: to messages that never reach it. */
  observe?: ObserveAnswer
  /** Whether the process is about to close. Answers then end their connections, so that clients open new ones elsewhere. */
  isLeaving?: () => boolean
  /** The setting that names the host, for messages. */
  hostSetting?: string
}

export interface CloseOptions {
  /** Time for requests to be answered. Clients without an answer are disconnected then. */
  deadlineMilliseconds?: number
  /** Time for answers that have begun by then, such as downloads. By default they have no more than the others. */
  begunMilliseconds?: number
}

export interface Listener {
  /** For example `http://127.0.0.1:8025`. */
  address: string
  port: number
  /** Accepts no new connections, and waits for the requests in progress. */
  close(options?: CloseOptions): Promise<void>
}

/** The host name to listen on does not resolve. */
export class UnknownHost extends Error {
  override name = 'UnknownHost'
}

/** Serves the app over HTTP. Rejects if the port is taken, and with `UnknownHost`. */
export async function listen(
  app: App,
  where: { host: string; port: number },
  options: ListenOptions = {},
): Promise<Listener> {
  const { patience = PATIENCE, observe = () => {}, isLeaving = () => false } = options
  const { hostSetting = 'WAXWING_HOST' } = options
  const serve = getRequestListener(app.fetch, {
    // Only requests that are not valid HTTP get here: the app answers all others.
    errorHandler: () => {
      const requestId = newId()
      observe({ ...UNREAD, requestId, status: 400 })
      return answerProtocolError(headersFor(requestId, {}), 'bad_request')
    },
  })
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: patience.headersMilliseconds,
      requestTimeout: patience.requestMilliseconds,
      connectionsCheckingInterval: patience.lookMilliseconds,
      keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
      // Node's refusal would have no request id. The listener refuses in the shape of every other error.
      requireHostHeader: false,
    },
    answer,
  )
  function answer(incoming: IncomingMessage, outgoing: ServerResponse) {
    // The connection was refused before this came. The client will take it as not carried out, and may send it again.
    if (!incoming.socket.writable) return incoming.socket.destroySoon()
    const fault = messageFault(incoming)
    if (fault !== null) return refuse(incoming, outgoing, fault)
    // HTTP/1.0 has no Host (RFC 1945), and health checks of load balancers still use it.
    if (incoming.httpVersion === '1.0') incoming.headers.host ??= 'localhost'
    if (hasNeedlessBody(incoming) || isLeaving()) outgoing.shouldKeepAlive = false
    void serve(incoming, outgoing)
  }
  function refuse(incoming: IncomingMessage, outgoing: ServerResponse, error: ErrorBody) {
    const requestId = refuseMessage(incoming, outgoing, error)
    observe({ ...UNREAD, requestId, method: incoming.method ?? '', status: error.status })
  }
  // Node would ask for the body at once. `readBody` asks for it when the sender may send it.
  server.on('checkContinue', answer)
  server.on('checkExpectation', (incoming, outgoing) => refuse(incoming, outgoing, UNKNOWN_EXPECTATION))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: ClientSocket) => {
    const answered = answerClientError(error, socket)
    if (answered) observe({ ...UNREAD, ...answered })
  })
  const sockets = trackSockets(server)
  await begin(server, where, hostSetting)
  // A server that listens on a TCP port has an AddressInfo.
  const { port } = server.address() as AddressInfo
  return {
    address: `http://${hostInUrl(where.host)}:${port}`,
    port,
    close: times => close(server, sockets, times),
  }
}

function begin(server: Server, { host, port }: { host: string; port: number }, hostSetting: string) {
  return new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.syscall !== 'getaddrinfo') return reject(error)
      const message = `The host to listen on, ${host}, does not resolve. Set ${hostSetting} to another.`
      reject(new UnknownHost(message, { cause: error }))
    })
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
}

/** The connections that are open now. */
function trackSockets(server: Server): ReadonlySet<ClientSocket> {
  const sockets = new Set<ClientSocket>()
  server.on('connection', (socket: ClientSocket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

async function close(
  server: Server,
  sockets: ReadonlySet<ClientSocket>,
  { deadlineMilliseconds = 10_000, begunMilliseconds = deadlineMilliseconds }: CloseOptions = {},
): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  for (const { _httpMessage: answer } of sockets)
    if (answer && !answer.headersSent) answer.shouldKeepAlive = false
  // A connection whose answer had begun becomes idle after it, and `close` looks only once.
  const poll = setInterval(() => server.closeIdleConnections(), CLOSE_POLL_MILLISECONDS)
  const deadline = setTimeout(() => {
    for (const socket of sockets) if (!socket._httpMessage?.headersSent) socket.destroy()
  }, deadlineMilliseconds)
  const end = setTimeout(() => server.closeAllConnections(), begunMilliseconds)
  await closed
  clearInterval(poll)
  clearTimeout(deadline)
  clearTimeout(end)
}

/** The facts of a message that Node's parser refuses. Its start time is unknown. */
const UNREAD = { method: '', route: NO_ROUTE, seconds: 0 }

/**
 * Refuses a message whose body may not be where it seems to be. Nothing after it on its connection is read.
 * @returns the id of the request
 */
function refuseMessage(incoming: IncomingMessage, outgoing: ServerResponse, error: ErrorBody): string {
  const requestId = givenOrNewId(incoming)
  outgoing.shouldKeepAlive = false
  const text = JSON.stringify(error)
  outgoing.writeHead(error.status, {
    ...headersFor(requestId, {}),
    'content-length': Buffer.byteLength(text),
  })
  outgoing.end(text)
  return requestId
}

function givenOrNewId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return requestIdOf(typeof given === 'string' ? given : undefined)
}

/** Node keeps the answer in progress on the socket. */
type ClientSocket = Socket & { _httpMessage?: ServerResponse }

const STATUS_OF_CODE: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/**
 * Answers what Node's parser refuses, in the shape of every other error.
 * @returns what to observe, or null if nothing can be answered or the app also answers, to the message in progress
 */
function answerClientError(
  error: NodeJS.ErrnoException,
  socket: ClientSocket,
): { requestId: string; status: number } | null {
  // Once an answer has begun, another one would be read as part of its content.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy(error)
    return null
  }
  const status = STATUS_OF_CODE[error.code ?? '']
  const body: ErrorBody = status === undefined ? protocolError('bad_request') : errorOfStatus(status)
  const text = JSON.stringify(body)
  const underWay = socket._httpMessage?.req
  const requestId = underWay ? givenOrNewId(underWay) : newId()
  const headers = {
    ...headersFor(requestId, {}),
    connection: 'close',
    'content-length': Buffer.byteLength(text),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${body.status} ${errorOfStatus(body.status).message.slice(0, -1)}\r\n${lines.join('')}\r\n${text}`,
  )
  return underWay ? null : { requestId, status: body.status }
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
