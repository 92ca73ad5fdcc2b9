import type { Metric } from 'prom-client'
import type { Db } from '../database/pool.ts'
import { accountKeys } from '../accounts/secrets.ts'
import { openOAuthClients } from '../accounts/apps/clients.ts'
import { trustAlso } from '../kit/authorities.ts'
import { parseEgressAllow } from '../kit/egress/allow-list.ts'
import { egressGuard, type Resolver } from '../kit/egress/guard.ts'
import { type TargetGuard, targetGuard } from '../kit/egress/target-guard.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import type { PushReceiver } from '../kit/push-receiver.ts'
import { whole } from '../kit/share.ts'
import { systemRecords } from '../providers/autoconfig/records.ts'
import { type SearchOptions, serverSearch } from '../providers/autoconfig/search.ts'
import { type FileThread, openFileThread } from '../providers/dav/file-thread.ts'
import type { ServerSearch } from '../providers/discovery.ts'
import type { DeleteSubscription } from '../providers/kept-subscription.ts'
import type { OperatorsApps } from '../providers/operators-apps.ts'
import { ProviderCalls } from '../providers/http/provider-calls.ts'
import { serverCheck } from '../providers/server-check.ts'
import type { ServerCheck } from '../providers/mail-server.ts'
import type { SignIns } from '../providers/sign-in.ts'
import { clientName } from '../providers/smtp/client-name.ts'
import { accessTokens, type TokensOf } from './access-tokens.ts'
import { budgetedCheck } from './budgeted-check.ts'
import type { ConnectorOf } from './connections.ts'
import { connectors, endpoints } from './connector.ts'
import { HostBudget } from './host-budget.ts'
import type { LeasedSharing } from './kinds/slot-table.ts'
import type { PushTaking } from './kinds/kind.ts'
import { type KindOptions, type KindSettings, openKinds } from './kinds/kinds.ts'
import { openSignIns } from './kinds/sign-ins.ts'
import { SharedConnections } from './shared-connections.ts'

/** Where the servers of an address are looked for, if not on the internet. */
export type AutoconfigPlaces = Partial<
  Pick<SearchOptions, 'records' | 'ispdbUrl' | 'httpsPort' | 'searchSeconds' | 'findPlayedHosts'>
>

export interface OutsideOptions {
  db: Db
  keyRing: KeyRing
  settings: {
    egressAllow: readonly string[]
    webhookAllow: readonly string[]
    webhookAllowHttp: boolean
    allowPlaintext: boolean
    connectionsPerHost: number
    certificateAuthorities: string | null
    baseUrl: string | null
  } & OperatorsApps &
    KindSettings
  /** Finds the addresses of servers; the system's resolver by default. */
  resolve?: Resolver | undefined
  autoconfig?: AutoconfigPlaces
  /** The processes that share the limits of mail hosts and quotas; this one is alone by default. */
  sharing?: LeasedSharing
  /** Origins that stand in for the hosts of providers, as a sandbox lists them; null: the providers themselves. */
  standIns?: ReadonlyMap<string, URL> | null
  pace?: KindOptions['pace']
  /** The address of the service, for providers. Known once the API listens. */
  baseUrl(): string
}

/**
 * Every way to the outside. Connections to mail servers pass one guard and share the connections that a host is
 * given; the targets of webhooks have a guard of their own.
 */
export interface Outside {
  /** Connectors by which accounts are followed; everything else goes over `connections`. */
  connectorOf: ConnectorOf
  connections: SharedConnections
  servers: ServerCheck
  serverSearch: ServerSearch
  targets: TargetGuard
  /** Calls of the HTTP interfaces of providers. */
  calls: ProviderCalls
  /** The thread that reads large files of DAV servers. */
  davFiles: FileThread
  signIns: SignIns
  /** Deletes subscriptions of accounts that are no longer followed. */
  deleteSubscription: DeleteSubscription
  /** Opens the receivers of pushes of providers. */
  openPushes(taking: PushTaking): readonly PushReceiver[]
  tokensOf: TokensOf
  /** Metrics of the providers of accounts. */
  metrics: readonly Metric[]
  /** Connections of this process to mail servers, by protocol. */
  countConnections(): { imap: number; smtp: number }
}

export async function openOutside(options: OutsideOptions): Promise<Outside> {
  const { db, keyRing, sharing, settings, resolve, autoconfig, standIns = null, pace, baseUrl } = options
  const { allowPlaintext } = settings
  const guard = egressGuard({
    allow: parseEgressAllow(settings.egressAllow),
    ...(resolve ? { resolve } : {}),
  })
  // Accounts are followed by the role sync, and the outbox is sent by the role jobs.
  const sendingShare = sharing?.shareFor('jobs') ?? whole
  const budget = new HostBudget(settings.connectionsPerHost, sharing?.shareFor('sync'))
  const smtpBudget = new HostBudget(settings.connectionsPerHost, sendingShare)
  const davBudget = new HostBudget(settings.connectionsPerHost, sharing?.shareFor('sync'))
  sharing?.onChange(() => {
    budget.reconsider()
    smtpBudget.reconsider()
    davBudget.reconsider()
  })
  const ehloName = clientName(settings.baseUrl)
  const authorities = trustAlso(settings.certificateAuthorities)
  const calls = new ProviderCalls({ guard, authorities, standIns })
  const davFiles = openFileThread()
  const signIns = openSignIns({ calls, standIns })
  const clients = await openOAuthClients(db, keyRing, settings)
  const keys = accountKeys(keyRing)
  const tokensOf = accessTokens({ db, accountKeys: keys, clients, signIns })
  const kinds = await openKinds({
    db,
    keyRing,
    base: { url: baseUrl, isPlayed: standIns !== null },
    accountKeys: keys,
    settings,
    guard,
    davFiles,
    authorities,
    budget,
    smtpBudget,
    davBudget,
    clientName: ehloName,
    calls,
    tokensOf,
    sharing,
    pace,
  })
  const called = { db, kinds, reachedFor: 'calls' } as const
  return {
    connectorOf: connectors({ db, kinds, reachedFor: 'following' }, 'read'),
    connections: new SharedConnections({
      connectorOf: connectors(called, 'read'),
      endpointOf: endpoints(kinds),
      senderOf: connectors(called, 'send'),
      share: sendingShare,
    }),
    servers: budgetedCheck(serverCheck({ guard, authorities, clientName: ehloName, allowPlaintext }), {
      imap: budget,
      smtp: smtpBudget,
      dav: davBudget,
    }),
    serverSearch: serverSearch({
      guard,
      authorities,
      records: systemRecords(),
      allowPlaintext,
      ...autoconfig,
    }),
    targets: targetGuard({
      allow: parseEgressAllow(settings.webhookAllow),
      allowHttp: settings.webhookAllowHttp,
      ...(resolve ? { resolve } : {}),
    }),
    calls,
    davFiles,
    signIns,
    async deleteSubscription(left, signal) {
      for (const kind of Object.values(kinds)) await kind.deleteSubscription?.(left, signal)
    },
    openPushes: taking => Object.values(kinds).flatMap(kind => kind.openPushes?.(taking) ?? []),
    tokensOf,
    metrics: Object.values(kinds).flatMap(kind => kind.metrics ?? []),
    countConnections: () => ({ imap: budget.heldCount, smtp: smtpBudget.heldCount }),
  }
}
