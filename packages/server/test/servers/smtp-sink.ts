import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { converse } from './smtp-sink-session.ts'

export type SinkStep =
  | 'connect'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'content'
  | 'dot'
  | 'rset'
  | 'quit'
  | 'other'

/** Step of a client that just ended. */
export interface SinkMoment {
  step: SinkStep
  /** The address of MAIL and RCPT, the name of EHLO, the Message-ID at the dot. */
  argument: string
  /** Number of the connection, from 1. */
  connection: number
  /** How often this step came with this argument, over all connections, from 1. */
  times: number
}

/**
 * Action of the sink in place of that of a good server: it sends a reply (an accepting one at the dot journals
 * first), drops the connection, accepts and drops it before the reply, pours a text without end, or sends nothing any
 * more.
 */
export type SinkAnswer =
  | string
  | { does: 'drop' }
  | { does: 'accept_and_drop' }
  | { does: 'pour'; text: string }
  | { does: 'silence' }

export interface AcceptedMessage {
  from: string
  to: string[]
  /** Each byte is one character. */
  content: string
  messageId: string
  mailParameters: string[]
  rcptParameters: string[][]
  at: string
}

export interface SmtpSinkOptions {
  /** Only these may send. Without them nobody has to log in, or can. */
  user?: string
  password?: string
  /** Folder of `makeCertificates`; without one there is no TLS. */
  certificates?: string
  /** Speaks TLS from the first byte; otherwise STARTTLS is offered. */
  isImplicitTls?: boolean
  extensions?: readonly string[]
  /** Keeps what was accepted over several sinks; by default a file that goes with the sink. */
  journal?: string
  port?: number
  /** By default 127.0.0.1; `0.0.0.0` makes every loopback address a server. */
  listenHost?: string
  behave?: SmtpSink['behave']
}

export interface SmtpSink extends AsyncDisposable {
  readonly port: number
  readonly journal: string
  /** Every line that a client sent as a command, in order of arrival. */
  readonly commands: string[]
  /** Number of connections that were opened. */
  readonly connections: number
  readonly openCount: number
  /** Bytes that were poured out. */
  readonly poured: number
  /** Asked at each step; null does what a good server does. Awaiting in it delays the answer. */
  behave: (moment: SinkMoment) => SinkAnswer | null | undefined | Promise<SinkAnswer | null | undefined>
  /** All that was ever accepted, as the journal on disk has it. */
  accepted(): Promise<AcceptedMessage[]>
  /** Cuts all connections. */
  dropAll(): void
}

export const GOOD_EXTENSIONS: readonly string[] = [
  'PIPELINING',
  'SIZE 36700160',
  '8BITMIME',
  'SMTPUTF8',
  'DSN',
  'ENHANCEDSTATUSCODES',
]

/** State that the conversations of one sink share. */
export interface SinkState {
  options: SmtpSinkOptions
  extensions: readonly string[]
  secureContext: SecureContext | null
  commands: string[]
  poured: number
  ask(moment: Omit<SinkMoment, 'times'>): Promise<SinkAnswer | null>
  /** Returns once the message is on disk. */
  keep(message: AcceptedMessage): Promise<void>
}

/**
 * An SMTP server on loopback (RFC 5321, 3207, 4954, 2920, 1870, 6152, 6531, 3461) that misbehaves on command and
 * keeps a journal: an accepted message is on disk before the client gets the reply.
 */
export async function startSmtpSink(options: SmtpSinkOptions = {}): Promise<SmtpSink> {
  const sockets = new Set<Socket>()
  const times = new Map<string, number>()
  let connections = 0
  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    converse(state, socket, ++connections)
  })
  server.listen(options.port ?? 0, options.listenHost ?? '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const journal = options.journal ?? join('/tmp', `waxwing-sink-${randomUUID()}.jsonl`)
  const file: FileHandle = await open(journal, 'a')
  let lastWrite: Promise<unknown> = Promise.resolve()
  const state: SinkState = {
    options,
    extensions: options.extensions ?? GOOD_EXTENSIONS,
    secureContext: await readSecureContext(options.certificates),
    commands: [],
    poured: 0,
    async ask(moment) {
      const key = `${moment.step} ${moment.argument}`
      const count = (times.get(key) ?? 0) + 1
      times.set(key, count)
      return (await sink.behave({ ...moment, times: count })) ?? null
    },
    keep(message) {
      const written = lastWrite.then(async () => {
        await file.appendFile(`${JSON.stringify(message)}\n`)
        await file.datasync()
      })
      lastWrite = written.catch(() => undefined)
      return written
    },
  }
  const sink: SmtpSink = {
    port,
    journal,
    commands: state.commands,
    get connections() {
      return connections
    },
    get openCount() {
      return sockets.size
    },
    get poured() {
      return state.poured
    },
    behave: options.behave ?? (() => null),
    async accepted() {
      // Text after the last line end is still being written.
      const lines = (await readFile(journal, 'utf8')).split('\n').slice(0, -1)
      return lines.map(line => JSON.parse(line) as AcceptedMessage)
    },
    dropAll() {
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      sink.dropAll()
      await closed
      await lastWrite
      await file.close()
      if (!options.journal) await rm(journal, { force: true })
    },
  }
  return sink
}

async function readSecureContext(folder: string | undefined): Promise<SecureContext | null> {
  if (!folder) return null
  const [key, cert] = await Promise.all([
    readFile(join(folder, 'server.key')),
    readFile(join(folder, 'server.crt')),
  ])
  return createSecureContext({ key, cert })
}
