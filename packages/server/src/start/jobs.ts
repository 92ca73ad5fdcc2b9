import { Counter, type Gauge } from 'prom-client'
import type { Db } from '../database/pool.ts'
import { deleteOldEvents } from '../events/retention.ts'
import { deleteExpiredTokens } from '../features/accounts/accounts/deletion.ts'
import { accountKeys } from '../features/accounts/accounts/secrets.ts'
import { purgeDueAccounts, type PurgeStep } from '../features/accounts/accounts/purge.ts'
import { listTenantRetention } from '../features/tenancy/settings/store.ts'
import { Backfill } from '../features/mail/content/backfill.ts'
import { DocumentRewriter } from '../features/mail/content/document-rewriter.ts'
import { purgeBlobs, sweepBlobs } from '../features/mail/content/record-blobs.ts'
import { measureStorage } from '../features/tenancy/plans/store.ts'
import { directionsHandler } from '../features/mail/messages/directions-job.ts'
import { countStaleAccounts } from '../features/mail/search/record-version.ts'
import { sweepThreadLinks } from '../features/mail/threads/sweep.ts'
import { deleteExpiredAnswers } from '../door/idempotency.ts'
import type { BlobStore } from '../kit/blobs/blob-store.ts'
import { JobWorker } from '../jobs/job-worker.ts'
import { type RecurringTask, startJobs } from '../jobs/runner.ts'
import { askingGauge } from '../kit/metrics.ts'
import type { Shared } from './roles.ts'

/** The role `jobs`: background work of the whole installation. */
export async function startJobsRole(shared: Shared): Promise<AsyncDisposable> {
  const { installation, instance, wakes, connections, blobs, bodies, reader, metrics, clock, log } = shared
  const { db, pool } = installation.database
  const services = { connections, blobs, bodies, accountKeys: accountKeys(installation.keyRing), log }
  for (const gauge of [...storageGauges(db), staleGauge(db)]) metrics.registerMetric(gauge)
  await using opened = new AsyncDisposableStack()
  opened.use(await startJobs({ db, pool, tasks: recurringTasks(db, blobs), log }))
  const worker = opened.use(new JobWorker({ db, instance, handlers: [directionsHandler(db)], log }))
  const wakeWorker = () => worker.wake()
  wakes.on(['waxwing_job'], { onWake: wakeWorker, onListening: wakeWorker })
  const backfill = opened.use(new Backfill({ db, services, reader, clock }))
  const rewritten = new Counter({
    name: 'waxwing_search_documents_rewritten_total',
    help: 'Search documents that this process has rewritten by the rules of its release',
    registers: [metrics],
  })
  const onRewritten = (count: number) => rewritten.inc(count)
  opened.use(new DocumentRewriter({ db, services, reader, onRewritten }))
  const news = { onWake: (ids: string[]) => backfill.wake(ids), onListening: () => backfill.wake(null) }
  wakes.on(['waxwing_wake', 'waxwing_mail'], news)
  return opened.move()
}

function recurringTasks(db: Db, blobs: BlobStore): RecurringTask[] {
  const purging: PurgeStep[] = [(id, signal) => purgeBlobs(db, blobs, id, signal)]
  return [
    { name: 'purge_accounts', schedule: '* * * * *', run: signal => purgeDueAccounts(db, purging, signal) },
    { name: 'sweep_blobs', schedule: '* * * * *', run: signal => sweepBlobs(db, blobs, signal) },
    { name: 'sweep_events', schedule: '*/10 * * * *', run: signal => sweepEvents(db, signal) },
    { name: 'sweep_account_tokens', schedule: '7 * * * *', run: signal => deleteExpiredTokens(db, signal) },
    { name: 'sweep_answers', schedule: '37 * * * *', run: signal => deleteExpiredAnswers(db, signal) },
    { name: 'sweep_thread_links', schedule: '23 3 * * *', run: signal => sweepThreadLinks(db, signal) },
  ]
}

function storageGauges(db: Db): Gauge[] {
  return [
    askingGauge(
      'waxwing_stored_bytes',
      'What stored messages of the whole installation take on the disk',
      async () => (await measureStorage(db)).bytes,
    ),
    askingGauge(
      'waxwing_tenants_storage_full',
      'Tenants that store no more, since they reached the storageBytes of their plan',
      async () => (await measureStorage(db)).fullTenants,
    ),
  ]
}

function staleGauge(db: Db): Gauge {
  return askingGauge(
    'waxwing_search_accounts_stale',
    'Accounts of the whole installation whose search documents have not yet been rewritten for this release',
    () => countStaleAccounts(db),
  )
}

async function sweepEvents(db: Db, signal: AbortSignal): Promise<void> {
  for (const { tenantId, eventRetentionDays } of await listTenantRetention(db)) {
    await deleteOldEvents(db, tenantId, eventRetentionDays, signal)
  }
}
