import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { openSandbox, type Sandbox } from './open-sandbox.ts'
import { PROVIDERS, type Seed } from './providers.ts'
import { InvalidInput, parseInput } from './world/invalid-input.ts'
import { seedSchema } from './world/seed.ts'

const DEFAULT_PORT = 8040
const LOOK_MILLISECONDS = 500

const HELP = `Plays Gmail, Microsoft 365 mail and their sign-in on this machine, for tests and development.

Usage: waxwing-sandbox [--port 8040] [--host 127.0.0.1] [--seed FILE]

  --port PORT   Port of the control API. Each host of a provider has one of the next ports,
                and SMTP the last. 0 chooses free ones. Default: ${DEFAULT_PORT}
  --host HOST   Address to listen on. The control API answers this machine only.
                Default: 127.0.0.1
  --seed FILE   JSON with users, clients, service accounts and tenants to begin with
  --help        Print this

Everything is in memory: a restart begins again.
`

/** Runs the sandbox until SIGINT or SIGTERM, or until the npm that started it has ended. */
export async function run(args: string[], environment: NodeJS.ProcessEnv): Promise<void> {
  try {
    const options = readOptions(args)
    if (options === null) return void process.stdout.write(HELP)
    const { port, host, seedFile } = options
    const sandbox = await openSandbox({ port, host, ...(seedFile && { seed: await readSeed(seedFile) }) })
    process.stdout.write(welcome(sandbox))
    const end = endOnSignal(sandbox)
    if (isBelowNpm(environment)) watchParent(end)
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    process.exitCode = 1
  }
}

function readOptions(args: string[]): { port: number; host: string; seedFile: string | null } | null {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string', default: String(DEFAULT_PORT) },
      host: { type: 'string', default: '127.0.0.1' },
      seed: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const port = Number(values.port)
  if (!/^\d{1,5}$/.test(values.port) || port > 65_000) {
    throw new InvalidInput(`--port must be a number from 0 to 65000, not ${values.port}`)
  }
  return { port, host: values.host, seedFile: values.seed ?? null }
}

async function readSeed(file: string): Promise<Seed> {
  const text = await readFile(file, 'utf8')
  try {
    return parseInput(seedSchema(PROVIDERS), JSON.parse(text))
  } catch (error) {
    throw new InvalidInput(`${file} is no seed: ${error instanceof Error ? error.message : ''}`, {
      cause: error,
    })
  }
}

/** Returns what ends the sandbox. */
function endOnSignal(sandbox: Sandbox): () => void {
  let isEnding = false
  function end() {
    // The second signal will not wait.
    if (isEnding) process.exit(1)
    isEnding = true
    void sandbox[Symbol.asyncDispose]().then(() => process.exit(0))
  }
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  return end
}

/** A script of npm that runs on in the background, as is common before tests. */
const DETACHED = /(?<!&)&(?!&)|\bnohup\b|\bsetsid\b/

function isBelowNpm({ npm_lifecycle_script: script }: NodeJS.ProcessEnv): boolean {
  return script !== undefined && !DETACHED.test(script)
}

/** npm and npx pass no signal on to what they run, so the ports would stay in use. */
function watchParent(end: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    end()
  }, LOOK_MILLISECONDS)
  timer.unref()
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return 'The sandbox failed.'
  const { code, port } = error as NodeJS.ErrnoException & { port?: number }
  if (error instanceof InvalidInput || code === 'ENOENT') return error.message
  if (code?.startsWith('ERR_PARSE_ARGS')) return `${error.message}\n\n${HELP}`
  if (code === 'EADDRINUSE') return `Port ${port} is in use. Choose others with --port, such as --port 9040.`
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES')
    return `The sandbox may not listen there: ${error.message}`
  return error.stack ?? error.message
}

/** The text that is printed at a start: users, clients, hosts, and how to begin. */
function welcome({ controlUrl, hosts, smtp, world }: Sandbox): string {
  const users = world.users.list().map(({ email, name }) => `  ${email.padEnd(30)}${name}`)
  const clients = [...world.providers].flatMap(([provider, played]) =>
    played.clients().map(client => ({ provider, cloud: null, ...client })),
  )
  const [first] = clients
  const clientLines = clients.map(
    ({ provider, cloud, clientId, clientSecret }) =>
      `  ${`${provider}${cloud === null ? '' : `, ${cloud}`}`.padEnd(30)}${clientId}, ${clientSecret ?? '(certificate)'}`,
  )
  const hostLines = Object.entries(hosts).map(([host, origin]) => `  ${host.padEnd(30)}${origin}`)
  return `
The Waxwing sandbox runs. Control API: ${controlUrl}

Users (no passwords; choose one on the sign-in page)
${users.join('\n')}

OAuth clients (provider; id, secret)
${clientLines.join('\n')}

Hosts that it plays
${hostLines.join('\n')}
  ${'SMTP to these users'.padEnd(30)}${smtp.host}:${smtp.port}

Point Waxwing at it:

  WAXWING_SANDBOX_URL=${controlUrl} \\
  WAXWING_GOOGLE_CLIENT_ID=${first?.clientId ?? '…'} WAXWING_GOOGLE_CLIENT_SECRET=${first?.clientSecret ?? '…'} \\
  npx waxwing serve

Let a message arrive:

  printf 'From: Zoe <zoe@example.com>\\r\\nSubject: Hello\\r\\n\\r\\nHow are you?\\r\\n' |
    curl --data-binary @- ${controlUrl}/users/${world.users.list()[0]?.email ?? 'ada@gmail.test'}/messages

`
}
