import { LOG_FORMATS, LOG_LEVELS } from '../kit/log.ts'
import {
  baseUrl,
  boolean,
  certificateFile,
  databaseUrl,
  egressAllow,
  folder,
  hostToListenOn,
  integer,
  oneOf,
  origins,
  proxies,
  secretKey,
  someOf,
} from './parse.ts'

export const ROLES = ['api', 'sync', 'jobs'] as const
export type Role = (typeof ROLES)[number]

const port = integer(0, 65_535)

/**
 * Every setting. This table is what the service reads, what `waxwing serve --help` prints, and what
 * docs/configuration.md is checked against. `fallback` is read like a given value; where it is null the setting is
 * null when not given, and `shown` says what happens then.
 */
export const settings = {
  port: {
    name: 'WAXWING_PORT',
    read: port,
    fallback: '8025',
    meaning: 'Port of the API. 0 takes a free one.',
  },
  host: {
    name: 'WAXWING_HOST',
    read: hostToListenOn,
    fallback: '127.0.0.1',
    meaning: 'Address that the API listens on. 0.0.0.0 or :: is every address of the machine.',
  },
  baseUrl: {
    name: 'WAXWING_BASE_URL',
    read: baseUrl,
    fallback: null,
    shown: 'http://<host>:<port>',
    meaning: 'Where clients reach the API from outside, such as https://mail.example.com.',
  },
  dataDir: {
    name: 'WAXWING_DATA_DIR',
    read: folder,
    fallback: null,
    shown: './data, as root /var/lib/waxwing',
    meaning: 'Folder of the embedded database, the master key and files.',
  },
  blobDir: {
    name: 'WAXWING_BLOB_DIR',
    read: folder,
    fallback: null,
    shown: '<data folder>/blobs',
    meaning: 'Folder for stored files.',
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    read: databaseUrl,
    fallback: null,
    shown: 'the embedded PostgreSQL',
    meaning: 'A PostgreSQL of your own, 16 or newer: postgres://user:password@host:5432/database.',
  },
  secretKey: {
    name: 'WAXWING_SECRET_KEY',
    read: secretKey,
    fallback: null,
    shown: 'the file secret.key in the data folder',
    meaning:
      'Master key that seals passwords and tokens: 32 bytes in base64. Several, comma-separated, for a change of keys: the first seals, all open.',
  },
  egressAllow: {
    name: 'WAXWING_EGRESS_ALLOW',
    read: egressAllow,
    fallback: '',
    shown: 'none',
    meaning:
      'Mail servers that may be reached although they are private or on an unusual port: host, host:port or CIDR, comma-separated.',
  },
  allowPlaintext: {
    name: 'WAXWING_ALLOW_PLAINTEXT',
    read: boolean,
    fallback: 'false',
    meaning: 'Whether accounts may use mail servers without TLS (security: none).',
  },
  certificateAuthorities: {
    name: 'WAXWING_CA_FILE',
    read: certificateFile,
    fallback: null,
    shown: 'the public authorities only',
    meaning:
      'File of certificates (PEM) of authorities that servers of accounts may have theirs from, beside the public ones.',
  },
  connectionsPerHost: {
    name: 'WAXWING_CONNECTIONS_PER_HOST',
    read: integer(1, 10_000),
    fallback: '10',
    meaning: 'How many connections to one mail server may be open at once.',
  },
  metricsPort: {
    name: 'WAXWING_METRICS_PORT',
    read: port,
    fallback: '8026',
    meaning: 'Port of /metrics, on 127.0.0.1 only; health is answered there as well. 0 turns it off.',
  },
  trustProxy: {
    name: 'WAXWING_TRUST_PROXY',
    read: proxies,
    fallback: '',
    shown: 'none',
    meaning: 'Reverse proxies whose X-Forwarded-For is believed: addresses or CIDRs, comma-separated.',
  },
  corsOrigins: {
    name: 'WAXWING_CORS_ORIGINS',
    read: origins,
    fallback: '',
    shown: 'none',
    meaning: 'Origins whose pages may call the API from a browser, comma-separated.',
  },
  roles: {
    name: 'WAXWING_ROLES',
    read: someOf(ROLES),
    fallback: 'api,sync,jobs',
    meaning: 'What this process does. Several processes may share one external database.',
  },
  logLevel: {
    name: 'WAXWING_LOG_LEVEL',
    read: oneOf(LOG_LEVELS),
    fallback: 'info',
    meaning: `Least severe level that is logged: ${LOG_LEVELS.join(', ')}.`,
  },
  logFormat: {
    name: 'WAXWING_LOG_FORMAT',
    read: oneOf(LOG_FORMATS),
    fallback: null,
    shown: 'pretty on a terminal, else json',
    meaning: `How log lines look: ${LOG_FORMATS.join(' or ')}.`,
  },
} satisfies Record<string, Setting>

interface Setting {
  name: string
  read: (text: string) => unknown
  fallback: string | null
  shown?: string
  meaning: string
}

/** The settings in order, with what is used where one is not given. */
export function describeSettings(): Array<{ name: string; fallback: string; meaning: string }> {
  const all: Setting[] = Object.values(settings)
  return all.map(({ name, fallback, shown, meaning }) => ({
    name,
    fallback: shown ?? fallback ?? '',
    meaning,
  }))
}
