import { z } from 'zod'
import { EmailSchema, type WorldSeed } from '../world/seed.ts'

const MESSAGES = 200

/** A client of Google's sign-in, in a seed. */
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
  email: EmailSchema,
  clientId: z.string().optional(),
  /** SPKI in PEM; without it the sandbox makes a key. */
  publicKey: z.string().optional(),
  domain: z.string(),
  scopes: z.array(z.string().min(1)),
})

/** Google's own fields of a seed. */
export const GOOGLE_FIELDS = {
  serviceAccounts: z.array(SeedServiceAccountSchema).optional(),
}

const GoogleSeedSchema = z.object(GOOGLE_FIELDS)

export type GoogleSeed = z.output<typeof GoogleSeedSchema>
export type SeedClient = z.output<typeof SeedClientSchema>
export type SeedServiceAccount = z.output<typeof SeedServiceAccountSchema>

/** Google's fields of a seed, which may have others. */
export const googleSeedOf = (seed: WorldSeed): GoogleSeed => GoogleSeedSchema.parse(seed)

export const GOOGLE_EXAMPLE: WorldSeed & GoogleSeed = {
  users: [
    { email: 'ada@gmail.test', name: 'Ada Lovelace', messages: MESSAGES },
    { email: 'ben@gmail.test', name: 'Ben Carter', messages: MESSAGES },
    { email: 'cleo@corp.test', name: 'Cleo Okafor', messages: MESSAGES },
  ].map(user => ({ ...user, provider: 'google' })),
  clients: [{ provider: 'google', clientId: 'sandbox', clientSecret: 'sandbox-secret' }],
  serviceAccounts: [
    {
      email: 'delegate@sandbox.iam.gserviceaccount.test',
      domain: 'corp.test',
      scopes: ['https://mail.google.com/', 'https://www.googleapis.com/auth/gmail.modify'],
    },
  ],
}
