/** @module-tag postgres-16 */
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { openWakes } from '../database/wake.ts'
import { Instance } from '../processes/instance.ts'
import { Pulse } from '../processes/pulse.ts'
import { silentLog } from '../kit/log.ts'
import { openMetrics } from '../kit/metrics.ts'
import type { Wing } from '../wing/wing.ts'
import { newId } from '../kit/ids.ts'
import { startJobsRole } from './jobs.ts'

/** The role `jobs` with these wings alone. */
async function startWith(wings: readonly Wing[]) {
  await using opened = new AsyncDisposableStack()
  const { db, address } = opened.use(await openTestDatabase())
  const facts = { roles: ['jobs'], host: 'test', version: '0.0.0' }
  const instance = opened.use(await Instance.start({ address, log: silentLog, facts, isAlone: false }))
  const wakes = opened.use(openWakes(address, silentLog))
  const metrics = openMetrics()
  const pulse = opened.use(new Pulse(db, silentLog))
  const role = await startJobsRole({ db, instance, pulse, wakes, wings, metrics, log: silentLog })
  opened.use(role)
  const owned = opened.move()
  return { role, metrics, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('the role jobs stops the loops of all wings at the same time, and waits for each', async () => {
  const wings = Array.from({ length: 3 }, () => ({
    isTold: Promise.withResolvers<void>(),
    mayEnd: Promise.withResolvers<void>(),
  }))
  const ended: number[] = []
  await using started = await startWith(
    wings.map(({ isTold, mayEnd }, nth) => ({
      startWorkers(workers) {
        workers.defer(async () => {
          isTold.resolve()
          await mayEnd.promise
          ended.push(nth)
        })
      },
    })),
  )

  const stopped = started.role[Symbol.asyncDispose]()
  await Promise.all(wings.map(({ isTold }) => isTold.promise))
  expect(ended).toEqual([])
  for (const { mayEnd } of wings.toReversed()) mayEnd.resolve()
  await stopped

  expect(ended).toEqual([2, 1, 0])
})

test('the role jobs gives the purge the steps of all wings, those of later wings first', async () => {
  const names: string[] = []
  const purgeStep = (name: string) => async () => void names.push(name)
  const given = Promise.withResolvers<void>()
  const first: Wing = {
    purgeStep: purgeStep('first'),
    recurringTasks({ purgeSteps }) {
      const signal = new AbortController().signal
      void purgeSteps
        .reduce((before, step) => before.then(() => step(newId(), signal)), Promise.resolve())
        .then(given.resolve)
      return []
    },
  }

  await using _started = await startWith([first, {}, { purgeStep: purgeStep('last') }])
  await given.promise

  expect(names).toEqual(['last', 'first'])
})

test('the role jobs gives the tasks of a wing the answers of all wings about the blob store', async () => {
  const ofWing = (id: string) => async (ids: readonly string[]) => ids.filter(each => each === id)
  const given = Promise.withResolvers<string[]>()
  const first: Wing = {
    ownedBlobs: ofWing('a'),
    recurringTasks({ ownedBlobs }) {
      void Promise.all(ownedBlobs.map(listOwned => listOwned(['a', 'b', 'c']))).then(lists =>
        given.resolve(lists.flat()),
      )
      return []
    },
  }

  await using _started = await startWith([first, {}, { ownedBlobs: ofWing('c') }])

  expect(await given.promise).toEqual(['a', 'c'])
})
