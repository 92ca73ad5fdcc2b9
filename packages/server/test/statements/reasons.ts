/** Why some statements run on the newest PostgreSQL only. */
export interface Reason {
  /** The file that has the statements, from the folder of this package. */
  origin: string
  /** The beginning of the text, if only some of the file are meant, as `normalize` in record.ts makes it. */
  begins?: string
  because: string
  /** Whether they do not run in every run, such as after a race that few runs meet. The reason may be unneeded then. */
  isRare?: true
}

export const REASONS: readonly Reason[] = []
