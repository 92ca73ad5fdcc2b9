import { ProviderFailure } from '../../providers/failure.ts'

/**
 * Failures of single sources, such as a folder that may no longer be read. The others are followed nevertheless.
 */
export class Failures {
  #first: ProviderFailure | null = null
  /** Whether a source that was listed could not be found. */
  hasLost = false
  readonly #ids = new Set<string>()

  has(id: string): boolean {
    return this.#ids.has(id)
  }

  /** Does something with the source of this id, and notes a failure that concerns this source alone. */
  async after(id: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const isOfSource =
        error instanceof ProviderFailure && (error.kind === 'forbidden' || error.kind === 'not_found')
      if (!isOfSource) throw error
      this.#ids.add(id)
      this.hasLost ||= error.kind === 'not_found'
      this.#first ??= error
    }
  }

  /** Throws the first failure, if there was one. */
  rethrow(): void {
    if (this.#first) throw this.#first
  }
}
