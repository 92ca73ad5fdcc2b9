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
 * Every setting. The service reads this table, `waxwing serve --help` prints it, and docs/configuration.md is checked
 * against it. `fallback` is parsed like a given value. If `fallback` is null, a setting that is not given is null too,
 * and `shown` says what is used instead.
 */
export const settings = {
  port: {
    name: 'WAXWING_PORT',
    read: port,
    fallback: '8025',
    meaning: 'Port of the API. 0 chooses a free one.',
  },
  host: {
    name: 'WAXWING_HOST',
    read: hostToListenOn,
    fallback: '127.0.0.1',
    meaning: 'Address that the API listens on. 0.0.0.0 or :: means every address of the machine.',
  },
  baseUrl: {
    name: 'WAXWING_BASE_URL',
    read: baseUrl,
    fallback: null,
    shown: 'http://<host>:<port>',
    meaning: 'URL at which clients reach the API, such as https://mail.example.com.',
  },
  linksUrl: {
    name: 'WAXWING_LINKS_URL',
    read: baseUrl,
    fallback: null,
    shown: 'WAXWING_BASE_URL',
    meaning:
      'URL that tracking and unsubscribe links begin with, such as https://links.example.com. Set it for a host of their own: it serves nothing else.',
  },
  trackingIp: {
    name: 'WAXWING_TRACKING_IP',
    read: boolean,
    fallback: 'false',
    meaning: 'Whether the IP addresses of opens and clicks are kept and reported.',
  },
  dataDir: {
    name: 'WAXWING_DATA_DIR',
    read: folder,
    fallback: null,
    shown: './data; as root /var/lib/waxwing',
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
    meaning: 'An external PostgreSQL, 16 or newer: postgres://user:password@host:5432/database.',
  },
  secretKey: {
    name: 'WAXWING_SECRET_KEY',
    read: secretKey,
    fallback: null,
    shown: 'the file secret.key in the data folder',
    meaning:
      'Master key that encrypts passwords and tokens: 32 bytes in base64. To change keys, give several, comma-separated: the first encrypts, all decrypt.',
  },
  egressAllow: {
    name: 'WAXWING_EGRESS_ALLOW',
    read: egressAllow,
    fallback: '',
    shown: 'none',
    meaning:
      'Mail servers to allow although their address is private or their port unusual: host, host:port or CIDR, comma-separated.',
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
    shown: 'only the public authorities',
    meaning: 'PEM file of certificate authorities to trust for mail servers, in addition to the public ones.',
  },
  connectionsPerHost: {
    name: 'WAXWING_CONNECTIONS_PER_HOST',
    read: integer(1, 10_000),
    fallback: '10',
    meaning: 'Maximum number of open connections to one mail server, counted apart for IMAP and SMTP.',
  },
  metricsPort: {
    name: 'WAXWING_METRICS_PORT',
    read: port,
    fallback: '8026',
    meaning: 'Port of /metrics, on 127.0.0.1 only; the health checks are there as well. 0 turns it off.',
  },
  trustProxy: {
    name: 'WAXWING_TRUST_PROXY',
    read: proxies,
    fallback: '',
    shown: 'none',
    meaning: 'Reverse proxies whose X-Forwarded-For is trusted: addresses or CIDRs, comma-separated.',
  },
  corsOrigins: {
    name: 'WAXWING_CORS_ORIGINS',
    read: origins,
    fallback: '',
    shown: 'none',
    meaning: 'Origins of web pages that may call the API from a browser, comma-separated.',
  },
  roles: {
    name: 'WAXWING_ROLES',
    read: someOf(ROLES),
    fallback: 'api,sync,jobs',
    meaning: 'Roles of this process. Several processes may share one external database.',
  },
  logLevel: {
    name: 'WAXWING_LOG_LEVEL',
    read: oneOf(LOG_LEVELS),
    fallback: 'info',
    meaning: `Lowest level to log: ${LOG_LEVELS.join(', ')}.`,
  },
  logFormat: {
    name: 'WAXWING_LOG_FORMAT',
    read: oneOf(LOG_FORMATS),
    fallback: null,
    shown: 'pretty on a terminal, otherwise json',
    meaning: `Format of log lines: ${LOG_FORMATS.join(' or ')}.`,
  },
} satisfies Record<string, Setting>

interface Setting {
  name: string
  read: (text: string) => unknown
  fallback: string | null
  shown?: string
  meaning: string
}

/** Lists every setting in order, with the value that is used if it is not given. */
export function describeSettings(): Array<{ name: string; fallback: string; meaning: string }> {
  const all: Setting[] = Object.values(settings)
  return all.map(({ name, fallback, shown, meaning }) => ({
    name,
    fallback: shown ?? fallback ?? '',
    meaning,
  }))
}
