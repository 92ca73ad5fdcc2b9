import type { HttpBindings } from '@hono/node-server'
import { controlApp, type Reset } from './control/control-app.ts'
import type { ControlApp } from './control/routes.ts'
import { answerCall } from './hosting/answer-call.ts'
import { listen } from './hosting/listen.ts'
import { PROVIDERS, type Seed } from './providers.ts'
import { openSmtpDoor } from './smtp/smtp-door.ts'
import type { Host, Provider } from './world/provider.ts'
import { exampleSeed, type WorldSeed } from './world/seed.ts'
import { openWorld, type StartedProvider, type World } from './world/world.ts'

export interface SandboxOptions {
  /** Port of the control API; each host has one of the next ones, and SMTP the last. 0, the default, chooses free ones. */
  port?: number
  /** Address to listen on; by default 127.0.0.1. */
  host?: string
  /** Without it: users of Google and of each cloud of Microsoft with up to 200 messages, and the client `sandbox` of each. */
  seed?: Seed
  /** The providers to play; by default Google and Microsoft. */
  providers?: readonly Provider[]
}

export interface Sandbox extends AsyncDisposable {
  /** Origin of the control API, the service's WAXWING_SANDBOX_URL. */
  readonly controlUrl: string
  /** Origin of each provider host. */
  readonly hosts: Readonly<Record<string, string>>
  /** Address of the SMTP server that takes mail for the users from outside. */
  readonly smtp: { readonly host: string; readonly port: number }
  /** The world as it is now; `POST /reset` begins another. */
  readonly world: World
}

/** Starts all hosts of the sandbox in this process. */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, host = '127.0.0.1', providers = PROVIDERS } = options
  const seed: WorldSeed = options.seed ?? exampleSeed(providers)
  // AsyncDisposableStack came with Node 24, and the package runs on 22.
  const opened: AsyncDisposable[] = []
  const keep = <T extends AsyncDisposable>(one: T): T => {
    opened.push(one)
    return one
  }
  const close = async () => {
    current?.world.close()
    for (const one of opened.toReversed()) await one[Symbol.asyncDispose]()
  }
  let current: Playing | null = null
  const now = () => {
    if (!current) throw new Error('the sandbox is still starting')
    return current
  }
  const name = nameToCall(host)
  const portAfter = (index: number) => (port === 0 ? 0 : port + index)

  try {
    const hosts = hostsOf(providers)
    const origins: Record<string, string> = {}
    for (const one of hosts) {
      const listening = keep(await listen(answerAs(one, now), portAfter(one.port), host))
      origins[one.name] = `http://${one.servesPages ? 'localhost' : name}:${listening.port}`
    }
    const started = await startAll(providers)
    const begin: Reset = given => {
      const world = openWorld(given ?? seed, started, origins)
      current?.world.close()
      current = { world, control: controlApp(world, providers, begin) }
    }
    begin(null)
    const smtpPort = portAfter((hosts.at(-1)?.port ?? 0) + 1)
    const smtp = keep(await openSmtpDoor(() => now().world, smtpPort, host))
    const controlling = keep(await listen((request, env) => now().control.fetch(request, env), port, host))
    return {
      controlUrl: `http://${name}:${controlling.port}`,
      hosts: origins,
      smtp: { host: name, port: smtp.port },
      get world() {
        return now().world
      },
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The name in URLs of an address that is listened on. */
function nameToCall(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/** A host, and the name of the provider whose it is. */
type OwnedHost = Host & { provider: string }

/** All hosts, in the order of their ports. Refuses two of one name, or of one port. */
function hostsOf(providers: readonly Provider[]): OwnedHost[] {
  const hosts = providers
    .flatMap(({ name, hosts: own }) => own.map(host => ({ ...host, provider: name })))
    .toSorted((a, b) => a.port - b.port)
  for (const [nth, { name, port, provider }] of hosts.entries()) {
    const other = hosts.slice(0, nth).find(before => before.name === name || before.port === port)
    if (other)
      throw new Error(
        `The hosts ${other.name} of ${other.provider} and ${name} of ${provider} have the same name or port`,
      )
  }
  return hosts
}

function startAll(providers: readonly Provider[]): Promise<StartedProvider[]> {
  return Promise.all(providers.map(async provider => ({ provider, begin: await provider.start() })))
}

/** A world and its control API. */
interface Playing {
  readonly world: World
  readonly control: ControlApp
}

function answerAs(host: OwnedHost, now: () => Playing) {
  return (request: Request, env: HttpBindings): Promise<Response> => {
    const { world } = now()
    const app = world.providers.get(host.provider)?.apps[host.name]
    if (!app) throw new Error(`no app plays ${host.name}`)
    return answerCall(world, host, app, request, env)
  }
}
