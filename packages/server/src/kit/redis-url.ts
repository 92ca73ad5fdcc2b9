/** Where a Redis or Valkey is, and as whom it is used. */
export interface RedisAddress {
  host: string
  port: number
  isTls: boolean
  username: string | undefined
  password: string | undefined
  database: number
}

const PORT = 6379
const FORM =
  'redis://host:6379, or rediss:// for TLS, with user:password@ before the host and /database behind it'

/** Parses the URL of a Redis. Throws an `Error` whose message continues "NAME …" and never contains the password. */
export function parseRedisUrl(text: string): RedisAddress {
  const url = URL.parse(text)
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    throw new Error(`must be a URL like ${FORM}`)
  if (url.search || url.hash) throw new Error(`must not have anything behind the database: ${FORM}`)
  const database = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1]
  if (database === undefined) throw new Error(`must have the number of a database behind the host: ${FORM}`)
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? PORT : Number(url.port),
    isTls: url.protocol === 'rediss:',
    username: decoded(url.username),
    password: decoded(url.password),
    database: Number(database || 0),
  }
}

function decoded(part: string): string | undefined {
  if (part === '') return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Error('must have % in its user and password written as %25')
  }
}
