import { isStorableKey, storable } from '../../kit/storable.ts'

/** An item as its source lists it. */
export interface ListedVersion {
  key: string
  version: string
}

/** A source that is compared with its listing at the provider. */
export interface ComparedSource {
  /** Lists what the index should have of it. */
  list(): AsyncIterable<readonly ListedVersion[]>
  /** The versions that the index has, by key. */
  loadVersions(): Promise<ReadonlyMap<string, string>>
  /** Keys among these that are no differences, whatever their versions: they cannot be read, or are changed at the moment. */
  findExcused(keys: readonly string[]): Promise<ReadonlySet<string>>
  /** Brings the changes that the provider reports. */
  follow(): Promise<void>
  /**
   * Reads items that seem to differ, and may record those that the index has.
   * @returns the keys of those that are no differences after all
   */
  findEqual(lasting: LastingKeys): Promise<ReadonlySet<string>>
}

/** Keys in which the index and the provider differ by their versions. */
export interface LastingKeys {
  missing: readonly string[]
  changed: readonly string[]
  extra: readonly string[]
}

/** Numbers of items, and of those in which the index and the provider differ. */
export interface ListingCounts {
  listed: number
  indexed: number
  missing: number
  extra: number
  changed: number
}

/** The versions that the index and the provider have of a key; null: none. */
interface Difference {
  here: string | null
  there: string | null
}

interface Looked {
  listed: number
  indexed: number
  differences: Map<string, Difference>
}

/**
 * Counts the items in which the index and the provider differ, also after the provider was asked for its changes, and that
 * neither of them has changed meanwhile.
 */
export async function compareListing(source: ComparedSource): Promise<ListingCounts> {
  const first = await lookAtOnce(source)
  if (first.differences.size === 0) return countsOf(first, [])
  await source.follow()
  const second = await lookAtOnce(source)
  const lasting = [...second.differences].filter(([key, { here, there }]) => {
    const before = first.differences.get(key)
    return before?.here === here && before?.there === there
  })
  const keysWhere = (isWanted: (difference: Difference) => boolean) =>
    lasting.flatMap(([key, difference]) => (isWanted(difference) ? [key] : []))
  const equal = await source.findEqual({
    missing: keysWhere(({ here }) => here === null),
    changed: keysWhere(({ here, there }) => here !== null && there !== null),
    extra: keysWhere(({ there }) => there === null),
  })
  const unwanted = lasting.filter(([key, { here }]) => here === null && equal.has(key)).length
  return countsOf(
    { ...second, listed: second.listed - unwanted },
    lasting.flatMap(([key, difference]) => (equal.has(key) ? [] : difference)),
  )
}

function countsOf({ listed, indexed }: Looked, differences: readonly Difference[]): ListingCounts {
  const missing = differences.filter(({ here }) => here === null).length
  const extra = differences.filter(({ there }) => there === null).length
  return { listed, indexed, missing, extra, changed: differences.length - missing - extra }
}

async function lookAtOnce(source: ComparedSource): Promise<Looked> {
  const there = new Map<string, string>()
  for await (const page of source.list())
    for (const { key, version } of page) if (isStorableKey(key)) there.set(key, storable(version))
  const here = await source.loadVersions()
  const keys = [...new Set([...here.keys(), ...there.keys()])].filter(key => here.get(key) !== there.get(key))
  const excused = await source.findExcused(keys)
  const differences = keys
    .filter(key => !excused.has(key))
    .map(key => [key, { here: here.get(key) ?? null, there: there.get(key) ?? null }] as const)
  return { listed: there.size, indexed: here.size, differences: new Map(differences) }
}
