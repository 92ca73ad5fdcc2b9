import { z } from 'zod'

const email = z.email().max(254)
const scope = z.string().min(1)

export const MESSAGES_MAX = 100_000

export const SeedUserSchema = z.strictObject({
  email,
  name: z.string().min(1).max(200).optional(),
  /** Number of messages to begin with. */
  messages: z.int().min(0).max(MESSAGES_MAX).optional(),
})

export const SeedClientSchema = z.strictObject({
  clientId: z.string().min(1).max(200),
  clientSecret: z.string().min(1).max(200),
  /** Exact redirect URIs; `loopback` stands for every one whose host is loopback. Without them: loopback. */
  redirectUris: z.array(z.string()).optional(),
  /** Shown on the consent page. */
  name: z.string().min(1).max(200).optional(),
  publishing: z.enum(['production', 'testing']).optional(),
  singleUseRefreshTokens: z.boolean().optional(),
})

const SeedServiceAccountSchema = z.strictObject({
  email,
  clientId: z.string().optional(),
  /** SPKI in PEM; without it the sandbox makes a key. */
  publicKey: z.string().optional(),
  domain: z.string(),
  scopes: z.array(scope),
})

/** What a sandbox begins with, and returns to at `POST /reset`. */
export const SeedSchema = z.strictObject({
  /** Random numbers of the sandbox follow from it. */
  random: z.int().optional(),
  /** Time to begin with; by default the machine's. */
  now: z.iso.datetime({ offset: true }).optional(),
  users: z.array(SeedUserSchema).optional(),
  clients: z.array(SeedClientSchema).optional(),
  serviceAccounts: z.array(SeedServiceAccountSchema).optional(),
})

export type Seed = z.output<typeof SeedSchema>
export type SeedClient = z.output<typeof SeedClientSchema>
export type SeedServiceAccount = z.output<typeof SeedServiceAccountSchema>

const MESSAGES = 200

export const DEFAULT_SEED: Seed = {
  random: 1,
  users: [
    { email: 'ada@gmail.test', name: 'Ada Lovelace', messages: MESSAGES },
    { email: 'ben@gmail.test', name: 'Ben Carter', messages: MESSAGES },
    { email: 'cleo@corp.test', name: 'Cleo Okafor', messages: MESSAGES },
  ],
  clients: [{ clientId: 'sandbox', clientSecret: 'sandbox-secret' }],
  serviceAccounts: [
    {
      email: 'delegate@sandbox.iam.gserviceaccount.test',
      domain: 'corp.test',
      scopes: ['https://mail.google.com/', 'https://www.googleapis.com/auth/gmail.modify'],
    },
  ],
}
