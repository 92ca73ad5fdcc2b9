import type { HttpBindings } from '@hono/node-server'
import { controlApp } from './control/control-app.ts'
import { openSigningKeys } from './google/keys.ts'
import { answerCall } from './hosting/answer-call.ts'
import type { HostApp } from './hosting/host-app.ts'
import { type Host, HOSTS } from './hosting/hosts.ts'
import { listen } from './hosting/listen.ts'
import { openSmtpDoor } from './smtp/smtp-door.ts'
import { DEFAULT_SEED, type Seed } from './world/seed.ts'
import { openWorld, type Surroundings, type World } from './world/world.ts'

export interface SandboxOptions {
  /** Port of the control API; each host has one of the next ones, and SMTP the last. 0, the default, chooses free ones. */
  port?: number
  /** Address to listen on; by default 127.0.0.1. */
  host?: string
  /** Without it: ada@gmail.test, ben@gmail.test, cleo@corp.test with 200 messages each, and the client `sandbox`. */
  seed?: Seed
}

export interface Sandbox extends AsyncDisposable {
  /** Origin of the control API, the service's WAXWING_SANDBOX_URL. */
  readonly controlUrl: string
  /** Origin of each provider host. */
  readonly hosts: Readonly<Record<string, string>>
  /** Where mail for the users is taken from outside. */
  readonly smtp: { readonly host: string; readonly port: number }
  /** The world as it is now; `POST /reset` begins another. */
  readonly world: World
}

/** Starts all hosts of the sandbox in this process. */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, host = '127.0.0.1', seed = DEFAULT_SEED } = options
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
    const origins: Record<string, string> = {}
    for (const [index, provider] of HOSTS.entries()) {
      const listening = keep(await listen(answerAs(provider, now), portAfter(index + 1), host))
      origins[provider.name] = `http://${provider.servesPages ? 'localhost' : name}:${listening.port}`
    }
    const surroundings: Surroundings = { origins, keys: await openSigningKeys() }
    const begin = (next: Seed) => {
      const begun = play(openWorld(next, surroundings))
      current?.world.close()
      current = begun
    }
    begin(seed)
    const smtp = keep(await openSmtpDoor(() => now().world, portAfter(HOSTS.length + 1), host))
    const control = controlApp({ current: () => now().world, reset: next => begin(next ?? seed) })
    const controlling = keep(await listen((request, env) => control.fetch(request, env), port, host))
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

/** A world, and what answers for it at each host. */
interface Playing {
  world: World
  apps: ReadonlyMap<Host, HostApp>
}

function play(world: World): Playing {
  return { world, apps: new Map(HOSTS.map(host => [host, host.open(world)])) }
}

function answerAs(host: Host, now: () => Playing) {
  return (request: Request, env: HttpBindings): Promise<Response> => {
    const { world, apps } = now()
    const app = apps.get(host)
    if (!app) throw new Error(`no app plays ${host.name}`)
    return answerCall(world, host, app, request, env)
  }
}
