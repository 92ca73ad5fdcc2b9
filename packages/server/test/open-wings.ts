import { passPoints } from '../src/kit/reach-point.ts'
import { readConfig } from '../src/config.ts'
import { openOutside } from '../src/connections/outside.ts'
import { openWaker, openWakes } from '../src/database/wake.ts'
import { openNews } from '../src/events/news.ts'
import { Instance } from '../src/processes/instance.ts'
import { Pulse } from '../src/processes/pulse.ts'
import { openBlobStore } from '../src/kit/blobs/blob-store.ts'
import { openFolderObjects } from '../src/kit/blobs/folder-objects.ts'
import { systemClock } from '../src/kit/clock.ts'
import { silentLog } from '../src/kit/log.ts'
import { openMetrics } from '../src/kit/metrics.ts'
import { createOwnLimits } from '../src/limits/own-limits.ts'
import type { Wing } from '../src/wing/wing.ts'
import { openWings } from '../src/wings.ts'
import type { TestApp } from './open-app.ts'

export interface TestWings extends AsyncDisposable {
  wings: readonly Wing[]
}

/** Every wing, open on the database of an app, with none of its parts at work. */
export async function openTestWings({ database, keyRing }: TestApp): Promise<TestWings> {
  await using opened = new AsyncDisposableStack()
  const { db, address } = database
  const log = silentLog
  // No test of these stores files.
  const env = { WAXWING_ROLES: 'api', WAXWING_BLOB_DIR: '/nonexistent' }
  const config = readConfig(env, { isRoot: false, isTerminal: false })
  const facts = { roles: [], host: 'test', version: '0.0.0' }
  const instance = opened.use(await Instance.start({ address, log, facts, isAlone: false }))
  const { connections, servers, serverSearch, signIns, targets, deleteSubscription } = await openOutside({
    db,
    keyRing,
    settings: config,
    baseUrl: () => 'http://localhost:8025',
  })
  const wakes = opened.use(openWakes(address, log))
  const pulse = opened.use(new Pulse(db, log))
  const { wings } = await openWings({
    db,
    keyRing,
    config,
    baseUrl: () => 'http://localhost:8025',
    log,
    clock: systemClock,
    metrics: openMetrics(),
    instance,
    pulse,
    waker: opened.use(openWaker(db, log)),
    wakes,
    news: opened.use(openNews({ db, wakes, pulse, log })),
    limits: createOwnLimits(systemClock),
    connections: opened.use(connections),
    servers,
    signIns,
    deleteSubscription,
    serverSearch,
    targets,
    blobs: openBlobStore(openFolderObjects(config.blobDir)),
    reachPoint: passPoints,
    opened,
  })
  const owned = opened.move()
  return { wings, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
