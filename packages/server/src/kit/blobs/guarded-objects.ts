import { ObjectMissing, type ObjectStore, type ObjectWriter, StorageUnavailable } from './object-store.ts'

/** A store whose check failed, or that did not answer, is left alone for this long before the next check. */
const LEFT_ALONE_SECONDS = 5

/** An object store that is used only once it is known to be the right one. */
export interface GuardedObjects extends ObjectStore {
  /** Rejects as the check does, or if the store does not answer. */
  ensure(): Promise<void>
}

/**
 * Lets nothing through to the store before the check has succeeded. An object counts as missing only if the check
 * succeeds again: a disk that is not mounted any more shows an empty folder. After a read was not answered, all calls
 * fail at once until a check succeeds again. Only reads count: an upload may be late for the size of its content.
 * @param check rejects unless this is the store of the installation
 */
export function guardObjects(objects: ObjectStore, check: () => Promise<void>): GuardedObjects {
  let checkedAt: number | null = null
  let checking: Promise<void> | null = null
  let failure: { error: unknown; checkAgainAt: number } | null = null

  function leaveAlone(error: unknown) {
    checkedAt = null
    failure = { error, checkAgainAt: performance.now() + LEFT_ALONE_SECONDS * 1000 }
  }
  async function checkOnce() {
    try {
      await check()
      checkedAt = performance.now()
      failure = null
    } catch (error) {
      leaveAlone(error)
      throw error
    } finally {
      checking = null
    }
  }
  async function ensure() {
    if (checkedAt !== null) return
    // One call waits for the check of a store that has failed. It may take long, so the others do not.
    if (failure && (checking || performance.now() < failure.checkAgainAt)) throw failure.error
    await (checking ??= checkOnce())
  }
  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    await ensure()
    return work()
  }
  async function asking<T>(work: () => Promise<T>): Promise<T> {
    const askedAt = performance.now()
    try {
      return await work()
    } catch (error) {
      const isSilent = error instanceof StorageUnavailable && error.trouble === 'unreachable'
      // Not after a later check has succeeded.
      if (isSilent && checkedAt !== null && checkedAt <= askedAt) leaveAlone(error)
      throw error
    }
  }

  return {
    name: objects.name,
    ensure,
    put: (key, content, options) => guarded(() => objects.put(key, content, options)),
    create: async key => guardWriter(await guarded(() => objects.create(key)), guarded),
    async open(key) {
      await ensure()
      try {
        return await asking(() => objects.open(key))
      } catch (error) {
        if (error instanceof ObjectMissing) await asking(check)
        throw error
      }
    },
    remove: key => guarded(() => objects.remove(key)),
    async *list(after) {
      await ensure()
      yield* objects.list(after)
    },
    sweepUploads: signal => guarded(() => objects.sweepUploads(signal)),
  }
}

function guardWriter(writer: ObjectWriter, guarded: <T>(work: () => Promise<T>) => Promise<T>): ObjectWriter {
  return {
    write: bytes => guarded(() => writer.write(bytes)),
    commit: () => guarded(() => writer.commit()),
    abort: () => guarded(() => writer.abort()),
  }
}
