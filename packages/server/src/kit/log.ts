import { Writable } from 'node:stream'
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino'
import { scrub } from './scrub.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const LOG_FORMATS = ['json', 'pretty'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/**
 * The fields that a log line may have. No other fields are written, so that no secret, address or message content is
 * logged by accident. Only ids, counts, our own names and names of servers belong here.
 */
const FIELDS = [
  'accountId',
  'address',
  'attempt',
  'bytes',
  'calendarId',
  'count',
  'delaySeconds',
  'endpointId',
  'eventId',
  'folder',
  'half',
  'hash',
  'host',
  'instanceId',
  'jobId',
  'keyId',
  'kind',
  'limit',
  'mailboxId',
  'messageId',
  'method',
  'milliseconds',
  'names',
  'outboxId',
  'outcome',
  'pid',
  'port',
  'position',
  'reason',
  'requestId',
  'route',
  'seconds',
  'signal',
  'stage',
  'status',
  'task',
  'tenantId',
  'tokenId',
  'uid',
  'version',
] as const
type FieldName = (typeof FIELDS)[number]
type FieldValue = string | number | boolean | null | undefined | readonly string[]

export type LogFields = { [Name in FieldName]?: FieldValue } & { error?: unknown }

interface LogLine {
  (message: string): void
  (fields: LogFields, message: string): void
}

export interface Logger {
  debug: LogLine
  info: LogLine
  warn: LogLine
  error: LogLine
  /** A logger whose lines all carry these fields. */
  child(fields: LogFields): Logger
}

export interface LogOptions {
  level: LogLevel
  format: LogFormat
  /** The destination of lines; standard output by default. */
  destination?: DestinationStream
}

const TEXT_CHARACTERS_MAX = 1000

export function openLog({ level, format, destination = process.stdout }: LogOptions): Logger {
  const lines = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      messageKey: 'message',
      formatters: { level: label => ({ level: label }), log: allowed },
      hooks: {
        logMethod(args, write) {
          // A bare message has no fields for the formatter, and must be scrubbed as well.
          const last = args.length - 1
          write.apply(this, args.with(last, tidy(args[last])) as Parameters<typeof write>)
        },
      },
    },
    format === 'pretty' ? prettyLines(destination) : destination,
  )
  return allowingLogger(lines)
}

/** pino passes a child's fields around its formatters. */
function allowingLogger(lines: PinoLogger): Logger {
  return {
    debug: lines.debug.bind(lines),
    info: lines.info.bind(lines),
    warn: lines.warn.bind(lines),
    error: lines.error.bind(lines),
    child: fields => allowingLogger(lines.child(allowed(fields))),
  }
}

/** Writes nothing. */
export const silentLog: Logger = openLog({ level: 'silent', format: 'json' })

function allowed(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const name of FIELDS) if (fields[name] !== undefined) kept[name] = tidy(fields[name])
  if (fields['error'] !== undefined) kept['error'] = describeError(fields['error'])
  return kept
}

function tidy(value: unknown): unknown {
  if (typeof value === 'string') return scrub(value.slice(0, TEXT_CHARACTERS_MAX))
  if (Array.isArray(value)) return value.slice(0, 100).map(tidy)
  return typeof value === 'object' && value !== null ? '[not logged]' : value
}

/** An error's own properties (a row in a PostgreSQL error's `detail`, an HTTP answer) are left out. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: 'not an error' }
  const { name, message, stack, cause } = error
  const code = 'code' in error ? error.code : undefined
  const kind = 'kind' in error ? error.kind : undefined
  return {
    name,
    message: tidy(message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof kind === 'string' ? { kind } : {}),
    at: stack
      ?.split('\n')
      .filter(line => line.startsWith('    at '))
      .slice(0, 12)
      .map(line => line.trim()),
    ...(cause instanceof Error && cause !== error
      ? { cause: `${cause.name}: ${String(tidy(cause.message))}` }
      : {}),
  }
}

/** Lines for people: `12:03:44 INFO  Listening address=http://127.0.0.1:8025`. */
function prettyLines(destination: DestinationStream): DestinationStream {
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      destination.write(prettyLine(line))
      done()
    },
  })
}

function prettyLine(line: string): string {
  // Our own line, just written by pino.
  const { level, time, message, error, ...fields } = JSON.parse(line) as Record<string, unknown>
  const words = Object.entries(fields).map(([name, value]) => `${name}=${showField(value)}`)
  const head = [String(time).slice(11, 19), String(level).toUpperCase().padEnd(5), message, ...words].join(
    ' ',
  )
  return `${head}\n${showError(error)}`
}

function showField(value: unknown) {
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value)
}

function showError(error: unknown) {
  if (typeof error !== 'object' || error === null) return ''
  // Written by describeError.
  const { name, message, at, cause } = error as {
    name?: string
    message?: string
    at?: string[]
    cause?: string
  }
  const lines = [`${name}: ${message}`, ...(at ?? []), ...(cause ? [`caused by ${cause}`] : [])]
  return lines.map(line => `    ${line}\n`).join('')
}
