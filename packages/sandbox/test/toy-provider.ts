import { Hono } from 'hono'
import { z } from 'zod'
import { readJson } from '../src/control/read-json.ts'
import type { ControlApp } from '../src/control/routes.ts'
import type { HostApp, HostEnv } from '../src/hosting/host-app.ts'
import { parseInput } from '../src/world/invalid-input.ts'
import type { PlayedProvider, Provider } from '../src/world/provider.ts'
import { requireUser } from '../src/world/users.ts'

export const TOY_HOST = 'api.toy.test'

const Letter = z.strictObject({ from: z.string(), to: z.string(), subject: z.string() })
const Settings = z.strictObject({ signature: z.string() })
const ToyClient = z.strictObject({ clientId: z.string(), marbles: z.int() })
const FIELDS = { toySignature: z.string().optional() }

/** A provider of one host, as small as one can be. Adds its users to `closed` when their world ends. */
export const toyProvider = (closed: string[] = []): Provider => ({
  name: 'toy',
  clouds: [],
  hosts: [
    {
      name: TOY_HOST,
      port: 90,
      servesPages: false,
      refuse: fault => Response.json({ refused: fault.does }, { status: fault.status ?? 503 }),
    },
  ],
  users: {
    newId: random => `toy-${random.hex(8)}`,
    personalDomains: new Set(['toy.test']),
    mailHosts: () => ['mx.toy.test'],
    problemOf: () => null,
  },
  seed: {
    fields: FIELDS,
    client: ToyClient,
    example: { users: [{ email: 'tom@toy.test', name: 'Tom', provider: 'toy' }] },
  },
  async start() {
    return ({ post }, users, seed): PlayedProvider => {
      const inboxes = new Map<string, string[]>()
      const clients = new Map<string, number>()
      const settings = { signature: z.object(FIELDS).parse(seed).toySignature ?? 'plain' }

      const app: HostApp = new Hono<HostEnv>()
      app.get('/inbox/:user', context => context.json(inboxes.get(context.req.param('user')) ?? []))
      app.post('/letters', async context => {
        const { from, to, subject } = parseInput(Letter, await context.req.json())
        context.env.call.user = requireUser(users, from).email
        const message = Buffer.from(
          `From: ${from}\r\nTo: ${to}\r\nSubject: ${subject}\r\n\r\n${settings.signature}\r\n`,
        )
        const addressee = post.findUser(to)
        if (addressee) post.deliver(addressee, { message, from })
        return context.json({ isDelivered: addressee !== null })
      })

      const controls: ControlApp = new Hono()
      controls.patch('/toy', async context => {
        Object.assign(settings, parseInput(Settings, await readJson(context)))
        return context.json(settings)
      })

      return {
        apps: { [TOY_HOST]: app },
        controls,
        addClient({ fields }) {
          const { clientId, marbles } = ToyClient.parse(fields)
          clients.set(clientId, marbles)
          return { clientId, marbles }
        },
        clients: () => [...clients].map(([clientId, marbles]) => ({ clientId, clientSecret: null, marbles })),
        grant: ({ user, clientId }) => ({ accessToken: `${user} ${clientId}`, refreshToken: 'toy' }),
        authorize: ({ url, user, denies }) => ({ redirectUrl: `${url}#${user} ${denies ?? 'allows'}` }),
        expire: ({ user, at }) => void inboxes.set(user?.email ?? 'all', [`Expired at ${at}.`]),
        configurePushes: given => ({ pushed: given }),
        addUser: user => void inboxes.set(user.email, []),
        findByAlias: () => null,
        receive(user, { message }) {
          inboxes.get(user.email)?.push(Buffer.from(message).toString())
          return { isKept: true }
        },
        changePassword: user => void inboxes.set(user.email, ['Your password has changed.']),
        close: () => void closed.push(...inboxes.keys()),
      }
    }
  },
})
