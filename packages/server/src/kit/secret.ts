import { inspect } from 'node:util'

const REDACTED = '[redacted]'

/** A value that logs, JSON and error messages print as `[redacted]`. Only `reveal` gives it away. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
