/** The log forgets its oldest calls beyond this number. */
const CALLS_KEPT_MAX = 100_000

/** One call to a provider host. Handlers fill in whom it was for and what it cost. */
export interface Call {
  id: number
  /** Time of the sandbox, in milliseconds since 1970. */
  at: number
  host: string
  method: string
  path: string
  /** Without tokens and secrets. */
  query: string
  /** Id of the batch call that this one is a part of. */
  partOf: number | null
  user: string | null
  clientId: string | null
  /** Quota units that it cost. */
  units: number
  /** Null while it is under way, and if no answer was sent. */
  status: number | null
  /** Kind of the fault that struck it. */
  fault: string | null
}

export type CallFilter = Partial<Pick<Call, 'host' | 'method' | 'path' | 'user'>> & { after?: number }

export interface CallLog {
  begin(call: Pick<Call, 'host' | 'method' | 'path' | 'query' | 'partOf'>): Call
  /** Calls in order of arrival. `path` may contain `*`. */
  list(filter: CallFilter): Call[]
  /** Number of calls that were forgotten. */
  readonly forgotten: number
  clear(): void
}

export function openCallLog(now: () => number): CallLog {
  let calls: Call[] = []
  let lastId = 0
  let forgotten = 0
  return {
    begin(made) {
      const call: Call = {
        id: ++lastId,
        at: now(),
        ...made,
        user: null,
        clientId: null,
        units: 0,
        status: null,
        fault: null,
      }
      calls.push(call)
      // Halved rather than shifted one by one, which would move the whole array at each call.
      if (calls.length > 2 * CALLS_KEPT_MAX) {
        forgotten += calls.length - CALLS_KEPT_MAX
        calls = calls.slice(-CALLS_KEPT_MAX)
      }
      return call
    },
    list({ path, after = 0, ...exact }) {
      const pattern = path === undefined ? null : pathPattern(path)
      return calls.filter(
        call =>
          call.id > after &&
          (pattern === null || pattern.test(call.path)) &&
          Object.entries(exact).every(([key, value]) => call[key as keyof typeof exact] === value),
      )
    },
    get forgotten() {
      return forgotten
    },
    clear() {
      calls = []
      forgotten = 0
    },
  }
}

/** A pattern in which `*` stands for any text. */
export function pathPattern(glob: string): RegExp {
  const escaped = glob.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(`^${escaped.replaceAll('*', '.*')}$`)
}
