//! Rows to the bytes of one Parquet file, whole in memory.
//!
//! Chunks of columns are encoded one by one with the writers of the four physical types that occur, and then appended: the writer that
//! takes a column of any type brings those of all eight into the program.

use crate::column::{Kind, Table, Value};
use bytes::Bytes;
use parquet::basic::{
    Compression, Encoding, GzipLevel, LogicalType, Repetition, TimeUnit, Type as Physical,
};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type};
use std::sync::Arc;

/// Integers with at most as many values as fit here are stored as a dictionary, the others by their differences.
const INTEGER_DICTIONARY_BYTES: usize = 8 << 10;

/// The bytes of a file with these rows.
///
/// # Errors
/// When the library refuses them.
pub fn encoded<R>(table: &Table<R>, rows: &[R]) -> Result<Vec<u8>, ParquetError> {
    let all: Vec<_> = table.all().collect();
    let columns: Vec<_> = all.iter().map(|c| (c.name, c.kind())).collect();
    written(table.name, &columns, &mut |at| values(&all[at].value, rows))
}

/// The values of a column. `present` has 1 for each row with a value and 0 for each without.
struct Chunk {
    present: Vec<i16>,
    values: Values,
}

enum Values {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<ByteArray>),
    Flags(Vec<bool>),
}

fn values<R>(value: &Value<R>, rows: &[R]) -> Chunk {
    let mut present = Vec::with_capacity(rows.len());
    let values = match value {
        Value::Integer(of) | Value::Instant(of) => Values::Integers(known(rows, of, &mut present)),
        Value::Number(of) => Values::Numbers(known(rows, of, &mut present)),
        Value::Flag(of) => Values::Flags(known(rows, of, &mut present)),
        Value::Text(of) => {
            let text = |row: &R| of(row).map(ByteArray::from);
            Values::Texts(known(rows, text, &mut present))
        }
    };
    Chunk { present, values }
}

fn known<R, V>(rows: &[R], of: impl Fn(&R) -> Option<V>, present: &mut Vec<i16>) -> Vec<V> {
    let values = rows.iter().filter_map(|row| {
        let value = of(row);
        present.push(value.is_some().into());
        value
    });
    values.collect()
}

fn written(
    name: &str,
    columns: &[(&'static str, Kind)],
    chunk: &mut dyn FnMut(usize) -> Chunk,
) -> Result<Vec<u8>, ParquetError> {
    let properties = Arc::new(properties(columns));
    let schema = Arc::new(schema(name, columns)?);
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::clone(&properties))?;
    let described = file.schema_descr().columns().to_vec();
    let mut group = file.next_row_group()?;
    for (at, column) in described.iter().enumerate() {
        let mut bytes = TrackedWrite::new(Vec::new());
        let closed = chunk_written(column, &properties, &mut bytes, &chunk(at))?;
        group.append_column(&Bytes::from(bytes.into_inner()?), closed)?;
    }
    group.close()?;
    file.into_inner()
}

fn chunk_written(
    column: &ColumnDescPtr,
    properties: &WriterPropertiesPtr,
    bytes: &mut TrackedWrite<Vec<u8>>,
    chunk: &Chunk,
) -> Result<ColumnCloseResult, ParquetError> {
    let pages = SerializedPageWriter::new(bytes);
    let into = (Arc::clone(column), Arc::clone(properties), pages);
    let present = &chunk.present;
    match &chunk.values {
        Values::Integers(values) => typed::<Int64Type>(into, values, present),
        Values::Numbers(values) => typed::<DoubleType>(into, values, present),
        Values::Texts(values) => typed::<ByteArrayType>(into, values, present),
        Values::Flags(values) => typed::<BoolType>(into, values, present),
    }
}

fn typed<T: DataType>(
    (column, properties, pages): (
        ColumnDescPtr,
        WriterPropertiesPtr,
        SerializedPageWriter<'_, Vec<u8>>,
    ),
    values: &[T::T],
    present: &[i16],
) -> Result<ColumnCloseResult, ParquetError> {
    let mut writer = ColumnWriterImpl::<T>::new(column, properties, Box::new(pages));
    writer.write_batch(values, Some(present), None)?;
    writer.close()
}

fn schema(name: &str, columns: &[(&'static str, Kind)]) -> Result<Type, ParquetError> {
    let fields = columns.iter().map(|(name, kind)| {
        let (physical, logical) = match kind {
            Kind::Integer => (Physical::INT64, None),
            Kind::Instant => {
                let instant = LogicalType::timestamp(true, TimeUnit::MICROS);
                (Physical::INT64, Some(instant))
            }
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Flag => (Physical::BOOLEAN, None),
        };
        let field = Type::primitive_type_builder(name, physical);
        let field = field
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(name).with_fields(fields).build()
}

fn properties(columns: &[(&'static str, Kind)]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("powerband ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for (name, kind) in columns {
        if let Kind::Integer | Kind::Instant = kind {
            let path = ColumnPath::from(*name);
            properties = properties
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_dictionary_page_size_limit(path, INTEGER_DICTIONARY_BYTES);
        }
    }
    properties.build()
}
