import { z } from 'zod'
import { EmailSchema, type WorldSeed } from '../world/seed.ts'
import { CLOUD_NAMES } from './clouds.ts'

const MESSAGES = 200
/** Messages of the other users, few so that a sandbox begins quickly. */
const FEW_MESSAGES = 20

export const AUDIENCES = [
  /** The users of one tenant. */
  'AzureADMyOrg',
  'AzureADMultipleOrgs',
  'AzureADandPersonalMicrosoftAccount',
  'PersonalMicrosoftAccount',
] as const

const permission = z.string().regex(/^[A-Za-z]+(?:\.[A-Za-z]+)+$/)

/** An app registration of Microsoft, in a seed. */
export const SeedClientSchema = z
  .strictObject({
    clientId: z.string().min(1).max(200),
    clientSecret: z.string().min(1).max(200).optional(),
    /** When the secret ends; by default never. */
    secretExpiresAt: z.iso.datetime({ offset: true }).optional(),
    /** Certificates in PEM, whose private keys the app has. */
    certificates: z.array(z.string().startsWith('-----BEGIN CERTIFICATE-----')).max(10).optional(),
    /** Exact redirect URIs; `loopback`, the default, stands for every one whose host is loopback. */
    redirectUris: z.array(z.string()).optional(),
    /** Shown on the consent page. */
    name: z.string().min(1).max(200).optional(),
    audience: z.enum(AUDIENCES).optional(),
    /** Domain of the tenant of an app of the audience `AzureADMyOrg`. */
    tenant: z.string().optional(),
    /** Permissions of the registration, which `.default` and the consent of an administrator grant. */
    delegatedPermissions: z.array(permission).optional(),
    applicationPermissions: z.array(permission).optional(),
    singleUseRefreshTokens: z.boolean().optional(),
    singleUseAssertions: z.boolean().optional(),
  })
  .refine(({ audience, tenant }) => (audience === 'AzureADMyOrg') === (tenant !== undefined), {
    path: ['tenant'],
    message: 'belongs to the audience AzureADMyOrg, and to no other',
  })

export const SeedTenantSchema = z.strictObject({
  domain: z.string().min(1).max(253),
  cloud: z.enum(CLOUD_NAMES).optional(),
  /** Whether only an administrator may allow an app. */
  approvalRequired: z.boolean().optional(),
  /** Addresses of administrators; null, the default, is the user who was added first. */
  administrators: z.array(EmailSchema).max(100).nullable().optional(),
})

/** Microsoft's own fields of a seed. */
export const MICROSOFT_FIELDS = { tenants: z.array(SeedTenantSchema).optional() }

const MicrosoftSeedSchema = z.object(MICROSOFT_FIELDS)

export type MicrosoftSeed = z.output<typeof MicrosoftSeedSchema>
export type SeedClient = z.output<typeof SeedClientSchema>
export type SeedTenant = z.output<typeof SeedTenantSchema>

/** Microsoft's fields of a seed, which may have others. */
export const microsoftSeedOf = (seed: WorldSeed): MicrosoftSeed => MicrosoftSeedSchema.parse(seed)

export const MICROSOFT_EXAMPLE: WorldSeed = {
  users: [
    { email: 'eva@office.test', name: 'Eva Lindqvist', messages: MESSAGES },
    { email: 'finn@office.test', name: 'Finn Okoye', messages: FEW_MESSAGES },
    { email: 'greta@outlook.test', name: 'Greta Sands', messages: FEW_MESSAGES },
    { email: 'hugo@agency.test', name: 'Hugo Marsh', cloud: 'gcc-high', messages: FEW_MESSAGES },
    { email: 'ivy@base.test', name: 'Ivy Stone', cloud: 'dod', messages: FEW_MESSAGES },
    { email: 'jun@shanghai.test', name: 'Jun Li', cloud: 'china', messages: FEW_MESSAGES },
    { email: 'desk@office.test', name: 'Front Desk', messages: FEW_MESSAGES, delegates: ['eva@office.test'] },
  ].map(user => ({ ...user, provider: 'microsoft' })),
  // The two government clouds share their registrations.
  clients: (['global', 'gcc-high', 'china'] as const).map(cloud => ({
    provider: 'microsoft',
    cloud,
    clientId: 'sandbox',
    clientSecret: 'sandbox-secret',
  })),
}
