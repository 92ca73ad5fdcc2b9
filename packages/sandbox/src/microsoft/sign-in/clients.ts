import { createHash, X509Certificate } from 'node:crypto'
import { type Cloud, CLOUDS, type CloudName } from '../clouds.ts'
import type { SeedClient } from '../seed.ts'

/** An app registration. */
export interface Client {
  readonly clientId: string
  readonly cloud: CloudName
  clientSecret: string | null
  /** ISO 8601; null for a secret that does not end. */
  secretExpiresAt: string | null
  /** Certificates in PEM. */
  certificates: readonly string[]
  /** Exact redirect URIs. `loopback` stands for every URI whose host is loopback. */
  redirectUris: readonly string[]
  /** Shown on the consent page. */
  name: string
  audience: NonNullable<SeedClient['audience']>
  /** Domain of the tenant of an app that serves one only. */
  tenant: string | null
  delegatedPermissions: readonly string[]
  applicationPermissions: readonly string[]
  /** Whether a refresh ends the refresh token that it used. Microsoft's live on; other providers' do not. */
  singleUseRefreshTokens: boolean
  /** Whether an assertion proves the client once only. Microsoft's own library sends one until it expires. */
  singleUseAssertions: boolean
}

const DELEGATED = ['User.Read', 'Mail.ReadWrite', 'Mail.Send', 'Mail.ReadWrite.Shared', 'Mail.Send.Shared']

export interface Clients {
  /** Finds a client that is registered in a cloud whose users sign in at this host. */
  find(loginHost: string, clientId: string): Client | null
  /** Adds a client, or changes the one with its id at that sign-in. */
  add(cloud: Cloud, given: SeedClient): Client
  list(): Client[]
}

export function openClients(): Clients {
  const clients = new Map<string, Client>()
  const key = (loginHost: string, clientId: string) => `${loginHost} ${clientId.toLowerCase()}`
  return {
    find: (loginHost, clientId) => clients.get(key(loginHost, clientId)) ?? null,
    add({ name: cloud, loginHost }, given) {
      const client: Client = {
        clientSecret: null,
        secretExpiresAt: null,
        certificates: [],
        redirectUris: ['loopback'],
        name: given.clientId,
        audience: 'AzureADandPersonalMicrosoftAccount',
        tenant: null,
        delegatedPermissions: DELEGATED,
        applicationPermissions: [],
        singleUseRefreshTokens: false,
        singleUseAssertions: false,
        ...given,
        cloud,
      }
      const own = key(loginHost, client.clientId)
      const known = clients.get(own)
      // Grants hold on to their client, whose settings they follow.
      if (known) return Object.assign(known, client)
      clients.set(own, client)
      return client
    },
    list: () => [...clients.values()],
  }
}

export const servesPersons = ({ audience, cloud }: Client): boolean =>
  CLOUDS[cloud].hasPersonalAccounts &&
  (audience === 'AzureADandPersonalMicrosoftAccount' || audience === 'PersonalMicrosoftAccount')

/** The certificate of a client with this thumbprint, in base64url. */
export function findCertificate(
  client: Client,
  algorithm: 'sha1' | 'sha256',
  thumbprint: string,
): X509Certificate | null {
  const certificates = client.certificates.map(pem => new X509Certificate(pem))
  return (
    certificates.find(
      ({ raw }) => createHash(algorithm).update(raw).digest('base64url') === thumbprint.replace(/=+$/, ''),
    ) ?? null
  )
}
