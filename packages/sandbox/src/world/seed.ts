import { z } from 'zod'

export const EmailSchema = z.email().max(254)

const MESSAGES_MAX = 100_000

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
}

export interface SeedUser {
  email: string
  name?: string | undefined
  /** Number of messages to begin with. */
  messages?: number | undefined
  /** Name of the provider; by default the first. */
  provider?: string | undefined
}

/** A provider as seeds name it. */
export interface SeededProvider {
  readonly name: string
  readonly seed: {
    /** Fields of a seed that are this provider's own. */
    readonly fields: z.ZodRawShape
    /** Its part of the seed of a sandbox that is started without one. */
    readonly example: WorldSeed
  }
}

export const userSchema = (providers: readonly SeededProvider[]): z.ZodType<SeedUser> =>
  z.strictObject({
    email: EmailSchema,
    name: z.string().min(1).max(200).optional(),
    messages: z.int().min(0).max(MESSAGES_MAX).optional(),
    provider: z.enum(providers.map(({ name }) => name)).optional(),
  })

/** The state that a sandbox begins with, and returns to at `POST /reset`. */
export const seedSchema = (providers: readonly SeededProvider[]): z.ZodType<WorldSeed> =>
  z.strictObject({
    ...WorldFields,
    users: z.array(userSchema(providers)).optional(),
    ...Object.assign({}, ...providers.map(({ seed }) => seed.fields)),
  })

/** The seed of a sandbox that is started without one. */
export function exampleSeed(providers: readonly SeededProvider[]): WorldSeed {
  const examples = providers.map(({ seed }) => seed.example)
  return {
    ...Object.assign({ random: 1 }, ...examples),
    users: examples.flatMap(({ users = [] }) => users),
  }
}
