const ENDED = 'it has ended.'
const TOO_LATE = 'the server did not answer in time.'
const TOO_MUCH = 'the server sent more than an answer may have.'
const NO_WAY = 'there is no way to the server.'
const UNCLEAR = 'the server sent something that cannot be understood.'

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'it was refused.'],
  ['ECONNRESET', 'the server ended it.'],
  ['EPIPE', 'the server ended it.'],
  ['EHOSTUNREACH', NO_WAY],
  ['ENETUNREACH', NO_WAY],
  ['EADDRNOTAVAIL', NO_WAY],
  // A firewall of this machine answers with the first two.
  ['EACCES', NO_WAY],
  ['EPERM', NO_WAY],
  ['ENETDOWN', NO_WAY],
  ['EHOSTDOWN', NO_WAY],
  ['ENOBUFS', NO_WAY],
  ['EMFILE', 'this service cannot open any more connections.'],
  ['ENFILE', 'this service cannot open any more connections.'],
  ['ETIMEDOUT', TOO_LATE],
  // OpenSSL's.
  ['EPROTO', UNCLEAR],
  ['ERR_STREAM_DESTROYED', ENDED],
  ['ERR_STREAM_WRITE_AFTER_END', ENDED],
  // imapflow's
  ['ETIMEOUT', TOO_LATE],
  ['CONNECT_TIMEOUT', TOO_LATE],
  ['GREETING_TIMEOUT', TOO_LATE],
  ['UPGRADE_TIMEOUT', TOO_LATE],
  ['NoConnection', ENDED],
  ['EConnectionClosed', ENDED],
  ['StateLogout', ENDED],
  ['ClosedAfterConnectTLS', 'the server ended it.'],
  ['ClosedAfterConnectText', 'the server ended it.'],
  ['LineTooLarge', TOO_MUCH],
  ['LiteralTooLarge', TOO_MUCH],
  ['ResponseTooLarge', TOO_MUCH],
])

/**
 * The reason why a connection failed, as the end of a sentence. The words of Node or a library are for the log: an odd
 * answer of a server may make a library throw anything.
 */
export function connectionReason(error: unknown): string {
  const { name, code, message, isOfSystem } = factsOf(error)
  const words = WORDS.get(code)
  if (words !== undefined) return words
  // Thrown by `connectTo` of the egress.
  if (message.startsWith('No connection in ')) return TOO_LATE
  if (name === 'AbortError' || name === 'TimeoutError') return 'it was given up.'
  return isOfSystem ? 'the operating system of this service reported an error.' : UNCLEAR
}

interface Facts {
  name: string
  code: string
  message: string
  /** Whether the operating system of this service reported it. */
  isOfSystem: boolean
}

/**
 * The facts of an error, with empty texts for missing ones; if several addresses failed, the facts of the last error.
 */
export function factsOf(error: unknown): Facts {
  const { name, code, message, errno, errors } = Object(error) as Readonly<Record<string, unknown>>
  if (Array.isArray(errors) && errors.length > 0) return factsOf(errors.at(-1))
  return {
    name: textOf(name),
    code: textOf(code),
    message: textOf(message),
    isOfSystem: typeof errno === 'number',
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
