import { z } from 'zod'
import { InvalidInput, parseInput } from './invalid-input.ts'

export const EmailSchema = z.email().max(254)

const MESSAGES_MAX = 100_000
const DELEGATES_MAX = 1000

const WorldFields = {
  /** Random numbers of the sandbox follow from it. */
  random: z.int().optional(),
  /** Time to begin with; by default the machine's. */
  now: z.iso.datetime({ offset: true }).optional(),
}

/** The part of a seed that is no provider's own. */
export interface WorldSeed {
  random?: number | undefined
  now?: string | undefined
  users?: SeedUser[] | undefined
  clients?: SeedClient[] | undefined
}

export interface SeedUser {
  email: string
  name?: string | undefined
  /** Number of messages to begin with. */
  messages?: number | undefined
  /** Name of the provider; by default the first. */
  provider?: string | undefined
  /** Cloud of the provider; by default its first. */
  cloud?: string | undefined
  /** Addresses of the users who may open the mailbox besides its own user. */
  delegates?: string[] | undefined
}

/** An OAuth client: its provider and cloud, and the fields that are the provider's own. */
export interface SeedClient {
  provider?: string | undefined
  cloud?: string | undefined
  [field: string]: unknown
}

/** A client of a provider, with the provider's own fields as its schema reads them. */
export interface NewClient {
  readonly cloud: string | null
  readonly fields: unknown
}

/** A provider as seeds name it. */
export interface SeededProvider {
  readonly name: string
  /** Clouds that have users and clients of their own, the default first; empty if there is one only. */
  readonly clouds: readonly string[]
  readonly seed: {
    /** Fields of a seed that are this provider's own. */
    readonly fields: z.ZodRawShape
    /** A client of this provider, without `provider` and `cloud`. */
    readonly client: z.ZodType
    /** Its part of the seed of a sandbox that is started without one. */
    readonly example: WorldSeed
  }
}

export const delegatesSchema = z.array(EmailSchema).max(DELEGATES_MAX)

const providerName = (providers: readonly SeededProvider[]) => z.enum(providers.map(({ name }) => name))

export const userSchema = (providers: readonly SeededProvider[]): z.ZodType<SeedUser> =>
  z
    .strictObject({
      email: EmailSchema,
      name: z.string().min(1).max(200).optional(),
      messages: z.int().min(0).max(MESSAGES_MAX).optional(),
      provider: providerName(providers).optional(),
      cloud: z.string().optional(),
      delegates: delegatesSchema.optional(),
    })
    .superRefine((user, context) => checkCloud(providers, user, context))

/** A client of any of the providers. Each field that is wrong is an issue of its own. */
export const clientSchema = (providers: readonly SeededProvider[]): z.ZodType<SeedClient> =>
  z
    .looseObject({ provider: providerName(providers).optional(), cloud: z.string().optional() })
    .superRefine((client, context) => {
      checkCloud(providers, client, context)
      const { provider, cloud: _cloud, ...fields } = client
      const parsed = providerOf(providers, provider)?.seed.client.safeParse(fields)
      for (const { path, message } of parsed?.error?.issues ?? [])
        context.addIssue({ code: 'custom', path: [...path], message })
    })

/** The state that a sandbox begins with, and returns to at `POST /reset`. */
export const seedSchema = (providers: readonly SeededProvider[]): z.ZodType<WorldSeed> =>
  z.strictObject({
    ...WorldFields,
    users: z.array(userSchema(providers)).optional(),
    clients: z.array(clientSchema(providers)).optional(),
    ...Object.assign({}, ...providers.map(({ seed }) => seed.fields)),
  })

/** The seed of a sandbox that is started without one. */
export function exampleSeed(providers: readonly SeededProvider[]): WorldSeed {
  const examples = providers.map(({ seed }) => seed.example)
  return {
    ...Object.assign({ random: 1 }, ...examples),
    users: examples.flatMap(({ users = [] }) => users),
    clients: examples.flatMap(({ clients = [] }) => clients),
  }
}

/** The client as its provider takes it. Throws `InvalidInput` for fields or a cloud that are wrong. */
export function readClient(
  provider: SeededProvider,
  { provider: _provider, cloud, ...fields }: SeedClient,
): NewClient {
  return { cloud: requireCloud(provider, cloud), fields: parseInput(provider.seed.client, fields) }
}

/** The cloud of this name, by default the provider's first; null at a provider with one only. */
export function requireCloud({ name, clouds }: SeededProvider, cloud: string | undefined): string | null {
  if (cloud === undefined) return clouds[0] ?? null
  if (!clouds.includes(cloud)) throw new InvalidInput(noSuchCloud(name, cloud))
  return cloud
}

function checkCloud(
  providers: readonly SeededProvider[],
  { provider, cloud }: { provider?: string | undefined; cloud?: string | undefined },
  context: { addIssue(issue: { code: 'custom'; path: string[]; message: string }): void },
): void {
  const found = providerOf(providers, provider)
  if (cloud === undefined || !found || found.clouds.includes(cloud)) return
  context.addIssue({ code: 'custom', path: ['cloud'], message: noSuchCloud(found.name, cloud) })
}

const providerOf = (providers: readonly SeededProvider[], name: string | undefined) =>
  name === undefined ? providers[0] : providers.find(provider => provider.name === name)

const noSuchCloud = (provider: string, cloud: string) => `${provider} has no cloud ${cloud} here`
