import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError, type Environment, readConfig } from './config.ts'
import { nearestSettings } from './config/misspelt.ts'
import { describeSettings } from './config/settings.ts'

const USER = { isRoot: false, isTerminal: false }
const KEY = Buffer.alloc(32, 7).toString('base64')

function problemsOf(environment: Environment) {
  try {
    readConfig(environment, USER)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

const NO_APPS_OF_MICROSOFT = Object.fromEntries(
  ['microsoft', 'microsoftGccHigh', 'microsoftDod', 'microsoftChina'].flatMap(app =>
    ['ClientId', 'ClientSecret', 'Certificate', 'PrivateKey'].map(part => [`${app}${part}`, null]),
  ),
)

describe('readConfig', () => {
  test('needs nothing', () => {
    expect(readConfig({}, USER)).toEqual({
      port: 8025,
      host: '127.0.0.1',
      baseUrl: null,
      linksUrl: null,
      trackingIp: false,
      dataDir: path.resolve('data'),
      isDataDirGiven: false,
      blobDir: path.resolve('data/blobs'),
      s3Bucket: null,
      s3Endpoint: null,
      s3Region: 'us-east-1',
      s3AccessKeyId: null,
      s3SecretAccessKey: null,
      s3Prefix: '',
      s3PathStyle: null,
      databaseUrl: null,
      databaseFailover: 'asynchronous',
      redisUrl: null,
      secretKey: null,
      egressAllow: [],
      webhookAllow: [],
      webhookAllowHttp: false,
      webhookConnections: 200,
      allowPlaintext: false,
      sandboxUrl: null,
      certificateAuthorities: null,
      connectionsPerHost: 10,
      gmailUnitsPerMinute: 6000,
      gmailProjectUnitsPerMinute: 1_200_000,
      calendarPastDays: 90,
      calendarAheadDays: 365,
      invitations: 'known',
      peopleCallsPerMinute: 90,
      peopleProjectCallsPerMinute: null,
      googleCalendarCallsPerMinute: 600,
      googleCalendarProjectCallsPerMinute: 10_000,
      googleClientId: null,
      googleClientSecret: null,
      googlePushTopic: null,
      googlePushSubscription: null,
      googlePushServiceAccount: null,
      ...NO_APPS_OF_MICROSOFT,
      metricsPort: 8026,
      metricsHost: '127.0.0.1',
      noticeSeconds: 2,
      trustProxy: [],
      corsOrigins: [],
      roles: ['api', 'sync', 'jobs'],
      logLevel: 'info',
      logFormat: 'json',
    })
  })

  test('needs the settings of an app, and those of its pushes, together', () => {
    const app = { WAXWING_GOOGLE_CLIENT_ID: 'one', WAXWING_GOOGLE_CLIENT_SECRET: 'two' }
    const push = {
      WAXWING_GOOGLE_PUSH_TOPIC: 'projects/mail/topics/gmail',
      WAXWING_GOOGLE_PUSH_SUBSCRIPTION: 'projects/mail/subscriptions/gmail',
      WAXWING_GOOGLE_PUSH_SERVICE_ACCOUNT: 'Push@mail.iam.gserviceaccount.com',
    }
    const config = readConfig({ ...app, ...push }, USER)
    expect(config.googleClientSecret?.reveal()).toBe('two')
    expect(config.googlePushServiceAccount).toBe('push@mail.iam.gserviceaccount.com')
    for (const all of [app, push]) {
      for (const name of Object.keys(all)) {
        const rest = Object.fromEntries(Object.entries(all).filter(([key]) => key !== name))
        expect(() => readConfig(rest, USER)).toThrow(`${name} is needed together with`)
      }
    }
    expect(() => readConfig({ ...push, WAXWING_GOOGLE_PUSH_TOPIC: 'gmail' }, USER)).toThrow(
      'WAXWING_GOOGLE_PUSH_TOPIC must look like projects/my-project/topics/gmail',
    )
  })

  test.each([
    ['http://127.0.0.1:8025', true],
    ['http://localhost:8025', true],
    ['http://waxwing:8025', true],
    ['https://mail.corp.internal', true],
    ['http://10.0.0.5', true],
    ['http://[::1]:8025', true],
    ['https://mail.example.com', false],
    ['https://8.8.8.8', false],
    ['https://[2606:4700::1111]', false],
  ])('lets a sandbox play the providers at %s: %s', (baseUrl, isAllowed) => {
    const problems = problemsOf({ WAXWING_SANDBOX_URL: 'http://127.0.0.1:8040', WAXWING_BASE_URL: baseUrl })
    expect(problems.length === 0).toBe(isAllowed)
  })

  test('takes another data folder as root, and prettier lines on a terminal', () => {
    const { dataDir, logFormat } = readConfig({}, { isRoot: true, isTerminal: true })
    expect({ dataDir, logFormat }).toEqual({ dataDir: '/var/lib/waxwing', logFormat: 'pretty' })
  })

  test('reads what is given, and an empty value as not given', () => {
    const config = readConfig(
      {
        WAXWING_PORT: '',
        WAXWING_BASE_URL: 'https://mail.example.com/',
        WAXWING_DATA_DIR: '/srv/waxwing',
        WAXWING_SECRET_KEY: `${KEY},${KEY}`,
        WAXWING_EGRESS_ALLOW: '10.0.0.0/8, mail.internal:1143',
        WAXWING_TRUST_PROXY: '127.0.0.1,10.1.0.0/16',
        WAXWING_CORS_ORIGINS: 'https://app.example.com',
        WAXWING_ROLES: 'api, sync',
        UNRELATED: 'x',
      },
      USER,
    )
    expect(config).toMatchObject({
      port: 8025,
      baseUrl: 'https://mail.example.com',
      dataDir: '/srv/waxwing',
      blobDir: '/srv/waxwing/blobs',
      egressAllow: ['10.0.0.0/8', 'mail.internal:1143'],
      trustProxy: ['127.0.0.1', '10.1.0.0/16'],
      corsOrigins: ['https://app.example.com'],
      roles: ['api', 'sync'],
    })
    expect(config.secretKey?.reveal()).toBe(`${KEY},${KEY}`)
  })

  test.each([
    ['WAXWING_PORT', '99999', 'must be a whole number from 0 to 65535, not "99999"'],
    ['WAXWING_HOST', 'a b', 'must be an address or a host name of this machine'],
    ['WAXWING_BASE_URL', 'mail.example.com', 'must be a URL like https://mail.example.com'],
    ['DATABASE_URL', 'mysql://ada:s3cret@db', 'must be a URL like postgres://'],
    ['WAXWING_SECRET_KEY', 's3cret', 'must hold 32 bytes in base64'],
    ['WAXWING_EGRESS_ALLOW', '10.0.0.0/99', 'is neither a host, host:port nor a CIDR'],
    ['WAXWING_WEBHOOK_ALLOW', '10.0.0.0/99', 'is neither a host, host:port nor a CIDR'],
    ['WAXWING_ALLOW_PLAINTEXT', 'yes', 'must be true or false, not "yes"'],
    ['WAXWING_CA_FILE', '/nowhere/ca.pem', 'is not one: ENOENT'],
    ['WAXWING_CA_FILE', import.meta.filename, 'it holds no certificate in PEM'],
    ['WAXWING_CONNECTIONS_PER_HOST', '0', 'must be a whole number from 1 to 10000'],
    ['WAXWING_METRICS_PORT', '8025', 'must differ from WAXWING_PORT'],
    ['WAXWING_TRUST_PROXY', 'true', '"true" is neither'],
    ['WAXWING_CORS_ORIGINS', '*', '"*" is not one'],
    ['WAXWING_ROLES', 'api,worker', 'must be one of api, sync, jobs, not "worker"'],
    ['WAXWING_LOG_LEVEL', 'loud', 'must be one of debug, info, warn, error, silent'],
    ['WAXWING_LOG_FORMAT', 'xml', 'must be one of json, pretty'],
  ])('refuses %s=%s', (name, value, problem) => {
    const problems = problemsOf({ [name]: value })
    expect(problems).toEqual([expect.stringContaining(problem)])
    expect(problems[0]).toMatch(new RegExp(`^${name} `))
    expect(problems[0]).not.toContain('s3cret')
  })

  test('does not take the key of a caller for a setting', () => {
    expect(problemsOf({ WAXWING_KEY: 'wk_1' })).toEqual([])
  })

  test('reports everything at once, and what a misspelt name may have meant', () => {
    expect(problemsOf({ WAXWING_PROT: '1', WAXWING_PORT: 'x', WAXWING_FLUX_CAPACITOR: '1' })).toEqual([
      'WAXWING_PROT is not a setting. Did you mean WAXWING_PORT? "waxwing serve --help" lists all settings.',
      'WAXWING_FLUX_CAPACITOR is not a setting. "waxwing serve --help" lists all settings.',
      'WAXWING_PORT must be a whole number from 0 to 65535, not "x"',
    ])
  })
})

describe('a name that is no setting', () => {
  test.each([
    ['WAXWING_PROT', ['WAXWING_PORT']],
    ['WAXWING_ALOW_PLAINTEXT', ['WAXWING_ALLOW_PLAINTEXT']],
    ['WAXWING_EGRES_ALOW', ['WAXWING_EGRESS_ALLOW']],
    ['WAXWING_DATADIR', ['WAXWING_DATA_DIR']],
    [
      'WAXWING_ALOW',
      [
        'WAXWING_EGRESS_ALLOW',
        'WAXWING_WEBHOOK_ALLOW',
        'WAXWING_WEBHOOK_ALLOW_HTTP',
        'WAXWING_ALLOW_PLAINTEXT',
      ],
    ],
    ['WAXWING_PLAINTEXT', ['WAXWING_ALLOW_PLAINTEXT']],
    ['WAXWING_DATABASE_URL', ['DATABASE_URL']],
    ['WAXWING_SMTP', []],
    ['WAXWING_TOKEN', []],
    ['WAXWING_', []],
    ['WAXWING_X', []],
  ])('%s may mean %j', (name, meant) => {
    expect(
      nearestSettings(
        name,
        describeSettings().map(setting => setting.name),
      ),
    ).toEqual(meant)
  })
})

describe('docs/configuration.md', () => {
  test('has a row for every setting, with its name, default and meaning', async () => {
    const page = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
    const rows = page.split('\n').filter(line => /^\| `(WAXWING_|DATABASE_URL|REDIS_URL)/.test(line))
    expect(rows).toEqual(
      describeSettings().map(({ name, fallback, meaning }) => `| \`${name}\` | ${fallback} | ${meaning} |`),
    )
  })
})
