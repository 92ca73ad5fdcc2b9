// `npm run dev`: the service with a sandbox in place of the providers, on data that is gone at the end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { googleIn } from '../packages/sandbox/src/google/google.ts'
import { openSandbox, type Sandbox } from '../packages/sandbox/src/open-sandbox.ts'

const PROGRAM = fileURLToPath(new URL('../packages/server/bin/waxwing.js', import.meta.url))
const START_SECONDS_MAX = 240
const ANSWER_SECONDS_MAX = 5
const LOOK_MILLISECONDS = 200
const PUSHES = {
  topic: 'projects/sandbox/topics/gmail',
  subscription: 'projects/sandbox/subscriptions/waxwing',
  serviceAccount: 'pushes@sandbox.iam.gserviceaccount.test',
}
/** The app that each of Microsoft's sign-ins in the sandbox has, and what its settings begin with in each cloud. */
const MICROSOFT_APP = { CLIENT_ID: 'sandbox', CLIENT_SECRET: 'sandbox-secret' }
const MICROSOFT_CLOUDS = ['', 'GCC_HIGH_', 'DOD_', 'CHINA_']

const { values: ports } = parseArgs({
  options: {
    port: { type: 'string', default: '8025' },
    'sandbox-port': { type: 'string', default: '8040' },
  },
})
const baseUrl = `http://127.0.0.1:${ports.port}`

async function run(): Promise<number> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await openSandbox({ port: Number(ports['sandbox-port']) }))
  const folder = await mkdtemp(join(tmpdir(), 'waxwing-dev-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  // PostgreSQL does not run as root, and must be able to enter.
  await chmod(folder, 0o711)
  const service = spawn(process.execPath, [PROGRAM, 'serve'], {
    // On a terminal the service would print its first key, which is read from a file here.
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...settings(sandbox, folder) },
  })
  service.stdout.pipe(process.stdout)
  const ended = once(service, 'exit')
  passSignals(service)
  const key = await waitForKey(folder, service)
  const isLate = key === null && isRunning(service)
  if (key !== null) {
    const { gmail } = googleIn(sandbox.world)
    gmail.configurePushes({ subscriptions: [{ ...PUSHES, endpoint: `${baseUrl}/push/gmail` }] })
    console.log(welcome(sandbox, key, await makeLink(key)))
  } else if (isLate) {
    console.error(`The service was not ready after ${START_SECONDS_MAX} seconds, and is stopped.`)
    service.kill('SIGTERM')
  }
  const [code] = await ended
  return typeof code === 'number' && !isLate ? code : 1
}

function settings({ controlUrl, world }: Sandbox, folder: string): Record<string, string> {
  const [client] = googleIn(world).accounts.clients.values()
  return {
    WAXWING_PORT: ports.port,
    WAXWING_METRICS_PORT: '0',
    WAXWING_DATA_DIR: folder,
    WAXWING_LOG_FORMAT: 'pretty',
    WAXWING_SANDBOX_URL: controlUrl,
    // Receivers that are being written run on this machine.
    WAXWING_WEBHOOK_ALLOW: '127.0.0.1/32',
    WAXWING_WEBHOOK_ALLOW_HTTP: 'true',
    WAXWING_GOOGLE_CLIENT_ID: client?.clientId ?? '',
    WAXWING_GOOGLE_CLIENT_SECRET: client?.clientSecret ?? '',
    WAXWING_GOOGLE_PUSH_TOPIC: PUSHES.topic,
    WAXWING_GOOGLE_PUSH_SUBSCRIPTION: PUSHES.subscription,
    WAXWING_GOOGLE_PUSH_SERVICE_ACCOUNT: PUSHES.serviceAccount,
    ...Object.fromEntries(
      MICROSOFT_CLOUDS.flatMap(cloud =>
        Object.entries(MICROSOFT_APP).map(([name, value]) => [`WAXWING_MICROSOFT_${cloud}${name}`, value]),
      ),
    ),
  }
}

/** Ctrl-C reaches the service from the terminal; this process ends when the service has. */
function passSignals(service: ChildProcess) {
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => service.kill('SIGTERM'))
  // npm may end without a word.
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) service.kill('SIGTERM')
  }, LOOK_MILLISECONDS).unref()
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

/** The first key, once it can be used: the service writes it to a file before it is committed. Null if none comes. */
async function waitForKey(folder: string, service: ChildProcess): Promise<string | null> {
  const deadline = performance.now() + START_SECONDS_MAX * 1000
  while (performance.now() < deadline && isRunning(service)) {
    const key = (await readFile(join(folder, 'first-api-key'), 'utf8').catch(() => '')).trim()
    if (key !== '' && (await isServed('/health/ready', key)) && (await isServed('/v1/accounts', key)))
      return key
    await setTimeout(LOOK_MILLISECONDS)
  }
  return null
}

async function isServed(path: string, key: string): Promise<boolean> {
  const signal = AbortSignal.timeout(ANSWER_SECONDS_MAX * 1000)
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(baseUrl + path, { headers, signal }).catch(() => null)
  await answer?.body?.cancel()
  return answer?.ok === true
}

/** A link that connects one mailbox with its contacts. */
async function makeLink(key: string): Promise<string> {
  const response = await fetch(`${baseUrl}/v1/connect-sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ options: { settings: { contactsEnabled: true } } }),
  })
  const { url } = (await response.json()) as { url?: string }
  return url ?? `(no link: HTTP ${response.status})`
}

function welcome({ controlUrl, smtp, world }: Sandbox, key: string, link: string): string {
  // The link leads to the default cloud.
  const users = world.users
    .list()
    .flatMap(({ email, cloud }) => (cloud === null || cloud === 'global' ? [email] : []))
  const first = users[0] ?? 'ada@gmail.test'
  return `
Waxwing runs at ${baseUrl}, with a sandbox in place of Google and Microsoft. Nothing of it is kept.

Connect a mailbox (choose ${users.join(', ')}; there are no passwords):

  ${link}

Use the API:

  export WAXWING_URL=${baseUrl}
  export WAXWING_KEY=${key}
  export SANDBOX_URL=${controlUrl}
  curl -H "Authorization: Bearer $WAXWING_KEY" $WAXWING_URL/v1/accounts

Let a message arrive:

  printf 'From: Zoe <zoe@example.com>\\r\\nSubject: Hello\\r\\n\\r\\nHow are you?\\r\\n' |
    curl --data-binary @- $SANDBOX_URL/users/${first}/messages

Every operation: ${baseUrl}/docs   The sandbox: ${controlUrl}, SMTP ${smtp.host}:${smtp.port}, docs/sandbox.md
Ctrl-C ends both.
`
}

process.exitCode = await run()
