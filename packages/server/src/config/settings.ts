import { LOG_FORMATS, LOG_LEVELS } from '../kit/log.ts'
import { microsoftApp } from './microsoft-apps.ts'
import {
  baseUrl,
  boolean,
  bucketName,
  certificateFile,
  clientId,
  clientSecret,
  cloudResource,
  databaseUrl,
  egressAllow,
  endpoint,
  folder,
  hostToListenOn,
  integer,
  keyPrefix,
  oneOf,
  origin,
  origins,
  proxies,
  redisUrl,
  region,
  secretKey,
  serviceAccount,
  someOf,
} from './parse.ts'

export const ROLES = ['api', 'sync', 'jobs'] as const
export type Role = (typeof ROLES)[number]

const INVITATIONS = ['known', 'all', 'off'] as const

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
  s3Bucket: {
    name: 'WAXWING_S3_BUCKET',
    read: bucketName,
    fallback: null,
    shown: 'none; files are in WAXWING_BLOB_DIR',
    meaning: 'Bucket for stored files, in S3 or a store that speaks its protocol, in place of a folder.',
  },
  s3Endpoint: {
    name: 'WAXWING_S3_ENDPOINT',
    read: endpoint,
    fallback: null,
    shown: 'AWS',
    meaning: 'URL of the store, such as https://s3.example.com.',
  },
  s3Region: {
    name: 'WAXWING_S3_REGION',
    read: region,
    fallback: 'us-east-1',
    meaning: 'Region of the bucket.',
  },
  s3AccessKeyId: {
    name: 'WAXWING_S3_ACCESS_KEY_ID',
    read: clientId,
    fallback: null,
    shown: 'as AWS’s own programs find it',
    meaning: 'Id of the access key, which may get, put and delete objects and list the bucket.',
  },
  s3SecretAccessKey: {
    name: 'WAXWING_S3_SECRET_ACCESS_KEY',
    read: clientSecret,
    fallback: null,
    shown: 'as AWS’s own programs find it',
    meaning: 'Secret of that access key.',
  },
  s3Prefix: {
    name: 'WAXWING_S3_PREFIX',
    read: keyPrefix,
    fallback: '',
    shown: 'none',
    meaning: 'Beginning of the names of all objects, such as waxwing, for a bucket that others use too.',
  },
  s3PathStyle: {
    name: 'WAXWING_S3_PATH_STYLE',
    read: boolean,
    fallback: null,
    shown: 'true with WAXWING_S3_ENDPOINT, otherwise false',
    meaning: 'Whether the bucket is named in the path of requests, and not in their host name.',
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    read: databaseUrl,
    fallback: null,
    shown: 'the embedded PostgreSQL',
    meaning: 'An external PostgreSQL, 16 or newer: postgres://user:password@host:5432/database.',
  },
  databaseFailover: {
    name: 'WAXWING_DATABASE_FAILOVER',
    read: oneOf(['asynchronous', 'synchronous']),
    fallback: 'asynchronous',
    meaning:
      'Set it to synchronous if a promotion of your standby loses no commit: messages that wait then go out after it. Otherwise they are held.',
  },
  redisUrl: {
    name: 'REDIS_URL',
    read: redisUrl,
    fallback: null,
    shown: 'none',
    meaning:
      'Redis or Valkey in which several processes keep limits together: redis://user:password@host:6379/0, or rediss:// for TLS.',
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
  webhookAllow: {
    name: 'WAXWING_WEBHOOK_ALLOW',
    read: egressAllow,
    fallback: '',
    shown: 'none',
    meaning:
      'Targets of webhooks to allow although their address is private or their port below 1024: host, host:port or CIDR, comma-separated. WAXWING_EGRESS_ALLOW does not count for webhooks.',
  },
  webhookAllowHttp: {
    name: 'WAXWING_WEBHOOK_ALLOW_HTTP',
    read: boolean,
    fallback: 'false',
    meaning: 'Whether webhooks may use plain HTTP to what WAXWING_WEBHOOK_ALLOW names.',
  },
  webhookConnections: {
    name: 'WAXWING_WEBHOOK_CONNECTIONS',
    read: integer(4, 10_000),
    fallback: '200',
    meaning: 'Webhooks that one process delivers at the same time, each over a connection of its own.',
  },
  allowPlaintext: {
    name: 'WAXWING_ALLOW_PLAINTEXT',
    read: boolean,
    fallback: 'false',
    meaning: 'Whether accounts may use mail servers without TLS (security: none).',
  },
  sandboxUrl: {
    name: 'WAXWING_SANDBOX_URL',
    read: origin,
    fallback: null,
    shown: 'none; providers are the real ones',
    meaning:
      'Where @waxwing/sandbox is controlled, such as http://127.0.0.1:8040. It then plays every provider: for development and tests, never with a public WAXWING_BASE_URL.',
  },
  certificateAuthorities: {
    name: 'WAXWING_CA_FILE',
    read: certificateFile,
    fallback: null,
    shown: 'only the public authorities',
    meaning:
      'PEM file of certificate authorities to trust for mail servers, webhooks, Redis and the S3 store, in addition to the public ones.',
  },
  connectionsPerHost: {
    name: 'WAXWING_CONNECTIONS_PER_HOST',
    read: integer(1, 10_000),
    fallback: '10',
    meaning:
      'Maximum number of open connections to one mail server, over all processes, counted apart for IMAP, SMTP and DAV.',
  },
  gmailUnitsPerMinute: {
    name: 'WAXWING_GMAIL_UNITS_PER_MINUTE',
    read: integer(100, 100_000_000),
    fallback: '6000',
    meaning: 'Quota units of the Gmail API that each user may use in a minute, over all processes.',
  },
  gmailProjectUnitsPerMinute: {
    name: 'WAXWING_GMAIL_PROJECT_UNITS_PER_MINUTE',
    read: integer(100, 100_000_000),
    fallback: '1200000',
    meaning: 'Quota units of the Gmail API that each Google project may use in a minute, over all processes.',
  },
  calendarPastDays: {
    name: 'WAXWING_CALENDAR_PAST_DAYS',
    read: integer(1, 730),
    fallback: '90',
    meaning: 'Days back for which the index holds what takes place in calendars, 1 to 730.',
  },
  calendarAheadDays: {
    name: 'WAXWING_CALENDAR_AHEAD_DAYS',
    read: integer(30, 1_000),
    fallback: '365',
    meaning: 'Days ahead for which the index holds what takes place in calendars, 30 to 1,000.',
  },
  invitations: {
    name: 'WAXWING_INVITATIONS',
    read: oneOf(INVITATIONS),
    fallback: 'known',
    meaning:
      'Which invitations by mail enter calendars whose server sends none: those of organizers that the account knows, all, or none.',
  },
  peopleCallsPerMinute: {
    name: 'WAXWING_PEOPLE_CALLS_PER_MINUTE',
    read: integer(10, 1_000_000),
    fallback: '90',
    meaning: 'Calls of the People API for the contacts of each Google user in a minute, over all processes.',
  },
  peopleProjectCallsPerMinute: {
    name: 'WAXWING_PEOPLE_PROJECT_CALLS_PER_MINUTE',
    read: integer(10, 100_000_000),
    fallback: null,
    shown: 'what Google allows',
    meaning: 'Calls of the People API for all users of a Google project in a minute, over all processes.',
  },
  googleCalendarCallsPerMinute: {
    name: 'WAXWING_GOOGLE_CALENDAR_CALLS_PER_MINUTE',
    read: integer(10, 1_000_000),
    fallback: '600',
    meaning: 'Calls of the Google Calendar API for each Google user in a minute, over all processes.',
  },
  googleCalendarProjectCallsPerMinute: {
    name: 'WAXWING_GOOGLE_CALENDAR_PROJECT_CALLS_PER_MINUTE',
    read: integer(10, 100_000_000),
    fallback: '10000',
    meaning:
      'Calls of the Google Calendar API for all users of a Google project in a minute, over all processes.',
  },
  googleClientId: {
    name: 'WAXWING_GOOGLE_CLIENT_ID',
    read: clientId,
    fallback: null,
    shown: 'none',
    meaning: 'Client id of an OAuth app at Google, for tenants without one of their own.',
  },
  googleClientSecret: {
    name: 'WAXWING_GOOGLE_CLIENT_SECRET',
    read: clientSecret,
    fallback: null,
    shown: 'none',
    meaning: 'Client secret of that app.',
  },
  googlePushTopic: {
    name: 'WAXWING_GOOGLE_PUSH_TOPIC',
    read: cloudResource('topics'),
    fallback: null,
    shown: 'none',
    meaning:
      'Pub/Sub topic that Gmail publishes changes to, such as projects/my-project/topics/gmail. Without one, mailboxes are polled.',
  },
  googlePushSubscription: {
    name: 'WAXWING_GOOGLE_PUSH_SUBSCRIPTION',
    read: cloudResource('subscriptions'),
    fallback: null,
    shown: 'none',
    meaning: 'Push subscription of that topic, such as projects/my-project/subscriptions/gmail.',
  },
  googlePushServiceAccount: {
    name: 'WAXWING_GOOGLE_PUSH_SERVICE_ACCOUNT',
    read: serviceAccount,
    fallback: null,
    shown: 'none',
    meaning: 'Address of the service account by which Google signs the pushes.',
  },
  ...microsoftApp('microsoft', 'WAXWING_MICROSOFT', 'Microsoft’s global cloud'),
  ...microsoftApp('microsoftGccHigh', 'WAXWING_MICROSOFT_GCC_HIGH', 'Microsoft’s cloud GCC High'),
  ...microsoftApp('microsoftDod', 'WAXWING_MICROSOFT_DOD', 'Microsoft’s cloud DoD'),
  ...microsoftApp('microsoftChina', 'WAXWING_MICROSOFT_CHINA', 'Microsoft’s cloud in China'),
  metricsPort: {
    name: 'WAXWING_METRICS_PORT',
    read: port,
    fallback: '8026',
    meaning: 'Port of /metrics; the health checks are there as well. 0 turns it off.',
  },
  metricsHost: {
    name: 'WAXWING_METRICS_HOST',
    read: hostToListenOn,
    fallback: '127.0.0.1',
    meaning:
      'Address that the metrics port listens on. It asks for no credential: open it to Prometheus and to probes only.',
  },
  noticeSeconds: {
    name: 'WAXWING_NOTICE_SECONDS',
    read: integer(0, 300),
    fallback: '2',
    meaning:
      'Seconds after SIGTERM in which requests are still taken while /health/ready is 503: as long as load balancers take to notice.',
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
