/** A map that keeps a value only as long as something else does. */
export class WeakValues<Value extends object> {
  readonly #references = new Map<string, WeakRef<Value>>()
  readonly #collected = new FinalizationRegistry<{ key: string; reference: WeakRef<Value> }>(
    ({ key, reference }) => {
      // The key may have another value by now.
      if (this.#references.get(key) === reference) this.#references.delete(key)
    },
  )

  /** Number of keys, with those whose values were collected a moment ago. */
  get size(): number {
    return this.#references.size
  }

  /** Returns the value of the key, which `make` makes if there is none. */
  getOrMake(key: string, make: () => Value): Value {
    const known = this.#references.get(key)?.deref()
    if (known) return known
    const made = make()
    const reference = new WeakRef(made)
    this.#references.set(key, reference)
    this.#collected.register(made, { key, reference })
    return made
  }
}
