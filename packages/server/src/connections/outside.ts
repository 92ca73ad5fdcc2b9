import type { Db } from '../database/pool.ts'
import { accountKeys } from '../features/accounts/accounts/secrets.ts'
import { trustAlso } from '../kit/authorities.ts'
import { parseEgressAllow } from '../kit/egress/allow-list.ts'
import { egressGuard, type Resolver } from '../kit/egress/guard.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import { systemRecords } from '../providers/autoconfig/records.ts'
import { type SearchOptions, serverSearch } from '../providers/autoconfig/search.ts'
import type { ServerSearch } from '../providers/discovery.ts'
import { serverCheck } from '../providers/server-check.ts'
import type { ServerCheck } from '../providers/sign-in.ts'
import { clientName } from '../providers/smtp/client-name.ts'
import { budgetedCheck } from './budgeted-check.ts'
import type { ConnectorOf } from './connections.ts'
import { type ConnectorOptions, connectors, senders } from './connector.ts'
import { HostBudget } from './host-budget.ts'
import { SharedConnections } from './shared-connections.ts'

/** Where the servers of an address are looked for, if not on the internet. */
export type AutoconfigPlaces = Partial<
  Pick<SearchOptions, 'records' | 'ispdbUrl' | 'httpsPort' | 'searchSeconds'>
>

export interface OutsideOptions {
  db: Db
  keyRing: KeyRing
  settings: {
    egressAllow: readonly string[]
    allowPlaintext: boolean
    connectionsPerHost: number
    certificateAuthorities: string | null
    baseUrl: string | null
  }
  /** Finds the addresses of servers; the system's resolver by default. */
  resolve?: Resolver | undefined
  autoconfig?: AutoconfigPlaces
  pace?: Pick<ConnectorOptions, 'keepAliveSeconds' | 'answerSeconds' | 'now'>
}

/** Every way to the outside. All of them pass the same guard, and share the connections that a host is given. */
export interface Outside {
  connectorOf: ConnectorOf
  connections: SharedConnections
  servers: ServerCheck
  serverSearch: ServerSearch
}

export function openOutside(options: OutsideOptions): Outside {
  const { db, keyRing, settings, resolve, autoconfig, pace } = options
  const { allowPlaintext } = settings
  const guard = egressGuard({
    allow: parseEgressAllow(settings.egressAllow),
    ...(resolve ? { resolve } : {}),
  })
  const budget = new HostBudget(settings.connectionsPerHost)
  const smtpBudget = new HostBudget(settings.connectionsPerHost)
  const ehloName = clientName(settings.baseUrl)
  const authorities = trustAlso(settings.certificateAuthorities)
  const reaching = {
    db,
    accountKeys: accountKeys(keyRing),
    guard,
    budget,
    smtpBudget,
    clientName: ehloName,
    allowPlaintext,
    authorities,
    ...pace,
  }
  const connectorOf = connectors(reaching)
  return {
    connectorOf,
    connections: new SharedConnections({ connectorOf, senderOf: senders(reaching) }),
    servers: budgetedCheck(serverCheck({ guard, authorities, clientName: ehloName }), {
      imap: budget,
      smtp: smtpBudget,
    }),
    serverSearch: serverSearch({
      guard,
      authorities,
      records: systemRecords(),
      allowPlaintext,
      ...autoconfig,
    }),
  }
}
