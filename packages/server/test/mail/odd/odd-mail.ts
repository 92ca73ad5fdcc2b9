import { ODD_BOUNDARIES } from './boundaries.ts'
import { ODD_CHARSETS } from './charsets.ts'
import { ODD_FRAMING } from './framing.ts'
import { ODD_HEADERS } from './headers.ts'
import { ODD_MACHINES } from './machines.ts'
import type { OddTable } from './odd-message.ts'
import { ODD_PARAMETERS } from './parameters.ts'
import { ODD_STRUCTURES } from './structures.ts'
import { ODD_TRANSFER_ENCODINGS } from './transfer-encodings.ts'

/** Messages in unusual forms. */
export const ODD_MAIL: OddTable = {
  ...ODD_CHARSETS,
  ...ODD_TRANSFER_ENCODINGS,
  ...ODD_STRUCTURES,
  ...ODD_BOUNDARIES,
  ...ODD_HEADERS,
  ...ODD_PARAMETERS,
  ...ODD_FRAMING,
  ...ODD_MACHINES,
}
