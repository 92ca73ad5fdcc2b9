import { generateKeyPairSync } from 'node:crypto'
import type { Ground } from '../world/ground.ts'
import type { Caller } from './caller.ts'
import type { Client, ServiceAccount } from './clients.ts'
import { type Codes, openCodes } from './codes.ts'
import { type Grants, openGrants } from './grants.ts'
import type { GoogleSeed, SeedClient, SeedServiceAccount } from './seed.ts'

/** State of Google's sign-in: clients, service accounts, grants and their tokens. */
export interface Accounts {
  readonly clients: ReadonlyMap<string, Client>
  readonly serviceAccounts: ReadonlyMap<string, ServiceAccount>
  readonly grants: Grants
  readonly codes: Codes
  /** Adds a client, or changes the one with its id. */
  addClient(client: SeedClient): Client
  addServiceAccount(account: SeedServiceAccount): ServiceAccount
  /** User, client and scopes of an access token; null if it is no good. */
  findCaller(accessToken: string): Caller | null
}

const SERVICE_ACCOUNT_KEY_BITS = 2048

export function openAccounts(ground: Ground, seed: GoogleSeed): Accounts {
  const random = ground.random.stream('accounts')
  const clients = new Map<string, Client>()
  const serviceAccounts = new Map<string, ServiceAccount>()
  const grants = openGrants(ground.clock, ground.random.stream('grants'))
  const accounts: Accounts = {
    clients,
    serviceAccounts,
    grants,
    codes: openCodes(ground.clock, ground.random.stream('codes')),
    addClient(given) {
      const client: Client = {
        redirectUris: ['loopback'],
        name: given.clientId,
        publishing: 'production',
        singleUseRefreshTokens: false,
        ...given,
      }
      const known = clients.get(client.clientId)
      // Grants hold on to their client, whose settings they follow.
      if (known) return Object.assign(known, client)
      clients.set(client.clientId, client)
      return client
    },
    addServiceAccount({ email, domain, scopes, clientId = random.digits(21), publicKey }) {
      let keys: ReturnType<ServiceAccount['keys']> | null =
        publicKey === undefined ? null : { publicKey, privateKey: null }
      const account: ServiceAccount = {
        email,
        domain,
        scopes,
        clientId,
        keyId: random.hex(40),
        keys: () => (keys ??= makeKeys()),
      }
      serviceAccounts.set(account.email, account)
      return account
    },
    findCaller(accessToken) {
      const found = grants.findAccessToken(accessToken)
      return found && { user: found.user, client: found.grant?.client ?? null, scopes: found.scopes }
    },
  }
  for (const account of seed.serviceAccounts ?? []) accounts.addServiceAccount(account)
  return accounts
}

function makeKeys(): ReturnType<ServiceAccount['keys']> {
  return generateKeyPairSync('rsa', {
    modulusLength: SERVICE_ACCOUNT_KEY_BITS,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
}
